"""Metrics of the platform with their descriptions. Services declare their own metrics in their `metrics.py`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_FAST = (0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Buckets in seconds for work within one process."""

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
REDACTED = Counter("agent_feedback_redacted_total", "Places in texts replaced by a mask", ("kind",))
PURGED = Counter(
    "agent_feedback_purged_rows_total",
    "Rows deleted because they were older than their retention",
    ("service", "table"),
)
LAG = Gauge("agent_feedback_lag_records", "Records in the log not yet committed", ("group",))
BATCH_SECONDS = Histogram("agent_feedback_batch_seconds", "Time from a batch's arrival to its commit", ("group",))
BATCH_RECORDS = Histogram(
    "agent_feedback_batch_records",
    "Records in a batch",
    ("group",),
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000),
)
STAGE_SECONDS = Histogram(
    "agent_feedback_stage_seconds",
    "Time of a batch in a stage: read (parsing), detector (judging), encoder (vectors), gate (language model), "
    "database (holding a connection; concurrent ones are added up), produce (writing to the log), commit",
    ("group", "stage"),
    buckets=_FAST,
)
EVENT_SECONDS = Histogram(
    "agent_feedback_event_to_commit_seconds",
    "Time from a record's arrival in the log to its commit",
    ("group",),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400),
)
COMMITTED_LOG_TIME = Gauge(
    "agent_feedback_committed_log_time_seconds",
    "Log time of the last committed record, in the partition with unread records where it is earliest; the current "
    "time if the group has read everything",
    ("group",),
)
POOL_WAIT = Histogram(
    "agent_feedback_pool_wait_seconds",
    "Time until a database connection of the pool was free",
    ("pool",),
    buckets=_FAST,
)
BREAKER = Gauge(
    "agent_feedback_breaker_open", "1 while a consumer is held because its own code keeps failing", ("group",)
)
READY = Gauge("agent_feedback_ready", "1 while the part is ready", ("part",))
HTTP_FAILURES = Counter(
    "agent_feedback_http_failures_total", "Requests answered with 500 because our own code failed", ("route",)
)
