"""Prometheus metrics of the reporting service."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

DELIVERIES = Counter(
    "agent_feedback_deliveries_total",
    "Attempts to deliver an event to a webhook endpoint, or an announcement to an alert channel (receiver `alerts`): "
    "delivered, failed, or failed for the last time (dead)",
    ("receiver", "outcome"),
)
ALERT_EVALUATION_FAILURES = Counter(
    "agent_feedback_alert_evaluation_failures_total",
    "Evaluations of a project's alert rules that failed; the log names the project",
)
ALERTS = Gauge(
    "agent_feedback_alert",
    "1 for each open alert of a rule; every process of reporting exports the same alerts",
    ("tenant", "project", "rule", "kind", "agent", "version", "issue"),
)
_AGENT = ("tenant", "project", "agent", "origin")
SATISFACTION = Gauge(
    "agent_feedback_satisfaction", "Share of good verdicts of the last 24 hours, of the most judged agents", _AGENT
)
VERDICTS = Gauge("agent_feedback_verdicts", "Verdicts of the last 24 hours, of the most judged agents", _AGENT)
REJECTION_RATE = Gauge(
    "agent_feedback_rejection_rate", "Share of rejections of the last 24 hours, of the most judged agents", _AGENT
)
UNLISTED_AGENTS = Gauge(
    "agent_feedback_unlisted_agents", "Agents with verdicts of the last 24 hours that have no metrics of their own"
)
ARTIFACTS = Counter(
    "agent_feedback_artifacts_total",
    "Objects written to and deleted from the artifact store, and failed steps",
    ("outcome",),
)
ARTIFACTS_WAITING = Gauge(
    "agent_feedback_artifacts_waiting", "Changes of turns not yet replicated to the artifact store"
)
