"""Definitions of the bridge's metrics, each with a description."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

REFUSED = Counter(
    "agent_feedback_refused_events_total",
    "Rejected chat events, from HTTP and from the log, by reason",
    ("topic", "reason"),
)
PARKED = Gauge("agent_feedback_parked", "Events that wait for the message they are about", ("service",))
PARKED_SECONDS = Gauge(
    "agent_feedback_parked_oldest_seconds", "Age of the oldest event that waits for its message", ("service",)
)
SOURCE_REQUESTS = Counter(
    "agent_feedback_source_requests_total",
    "Requests from other platforms: published, ignored (without an event), refused (invalid), unsigned (signature "
    "missing, wrong or too old) or unreadable (not a JSON object)",
    ("source", "outcome"),
)
