"""Metrics of the platform, each with its meaning. A service declares its own in its `metrics.py`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

RECORDS = Counter("agent_feedback_records_total", "Records by outcome", ("group", "topic", "outcome", "reason"))
DEAD_LETTERS = Counter("agent_feedback_dead_letters_total", "Dead letters written", ("group", "topic", "reason"))
DEAD_LETTER_FAILURES = Counter(
    "agent_feedback_dead_letter_failures_total", "Attempts to write dead letters that failed", ("group",)
)
BUGS = Counter("agent_feedback_bugs_total", "Dead letters written because our own code failed", ("group",))
RETRIES = Counter("agent_feedback_batch_retries_total", "Batches tried again after a transient failure", ("group",))
LOST_COMMITS = Counter(
    "agent_feedback_lost_commits_total", "Batches whose commit was refused or came too late", ("group",)
)
GAPS = Counter(
    "agent_feedback_log_gaps_total",
    "Positions outside the log: records that were deleted before they were read",
    ("group",),
)
DROPPED_FIELDS = Counter(
    "agent_feedback_dropped_fields_total",
    "Invalid optional fields of chat events, treated as not sent",
    ("topic", "field"),
)
REDACTED = Counter("agent_feedback_redacted_total", "Places in texts replaced by a mask", ("kind",))
FOREIGN_MEMBERS = Gauge(
    "agent_feedback_foreign_members", "Members of the consumer group that are not our processes", ("group",)
)
PURGED = Counter(
    "agent_feedback_purged_rows_total",
    "Rows deleted because they were older than their retention",
    ("service", "table"),
)
LAG = Gauge("agent_feedback_lag_records", "Records in the log not yet committed", ("group",))
BATCH_SECONDS = Histogram("agent_feedback_batch_seconds", "Time from a batch's arrival to its commit", ("group",))
BREAKER = Gauge(
    "agent_feedback_breaker_open", "1 while a consumer is held because its own code keeps failing", ("group",)
)
READY = Gauge("agent_feedback_ready", "1 while the part is ready", ("part",))
HTTP_FAILURES = Counter(
    "agent_feedback_http_failures_total", "Requests answered with 500 because our own code failed", ("route",)
)
HTTP_CLOSED = Counter(
    "agent_feedback_http_connections_closed_total",
    "HTTP connections closed by us: too slow with a request (slow) or too large a body after a refusal (too large), a "
    "response that is not read (not reading), to make room for another (crowded), or no room at all (refused)",
    ("reason",),
)
