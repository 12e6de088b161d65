"""Every metric, by name, with what it means. None is made anywhere else."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

RECORDS = Counter(
    "agent_feedback_records_total", "Records by what became of them", ("group", "topic", "outcome", "reason")
)
DEAD_LETTERS = Counter("agent_feedback_dead_letters_total", "Dead letters written", ("group", "topic", "reason"))
REFUSED = Counter(
    "agent_feedback_refused_events_total",
    "Chat events not taken, over HTTP or from the log, by the field and the rule that it breaks",
    ("topic", "field", "rule"),
)
DEAD_LETTER_FAILURES = Counter(
    "agent_feedback_dead_letter_failures_total", "Attempts to write dead letters that failed", ("group",)
)
BUGS = Counter("agent_feedback_bugs_total", "Records set aside because our own code failed on them", ("group",))
RETRIES = Counter("agent_feedback_batch_retries_total", "Batches tried again after a transient failure", ("group",))
LOST_COMMITS = Counter(
    "agent_feedback_lost_commits_total", "Batches whose commit was refused or came too late", ("group",)
)
GAPS = Counter(
    "agent_feedback_log_gaps_total",
    "Positions found outside the log: records deleted before they were read",
    ("group",),
)
DROPPED_FIELDS = Counter(
    "agent_feedback_dropped_fields_total",
    "Invalid optional fields of chat events, which count as not sent",
    ("topic", "field"),
)
FOREIGN_MEMBERS = Gauge(
    "agent_feedback_foreign_members", "Members of the consumer group that are no process of ours", ("group",)
)
PURGED = Counter(
    "agent_feedback_purged_rows_total",
    "Rows deleted because they were older than their retention",
    ("service", "table"),
)
LAG = Gauge("agent_feedback_lag_records", "Records in the log not yet committed", ("group",))
BATCH_SECONDS = Histogram("agent_feedback_batch_seconds", "Time from a batch's arrival to its commit", ("group",))
PARKED = Gauge("agent_feedback_parked", "Events waiting for the message they are about", ("service",))
MESSAGE_SOURCE = Counter(
    "agent_feedback_message_source_total",
    "Originals asked of the message source (found, unknown, resting), and requests that failed",
    ("outcome",),
)
SOURCE_REQUESTS = Counter(
    "agent_feedback_source_requests_total",
    "Requests of other platforms: published, ignored (nothing for us), refused (not understood), unsigned (signature "
    "missing, wrong or too old) or unreadable (no JSON object)",
    ("source", "outcome"),
)
LLM_GATE = Counter(
    "agent_feedback_llm_gate_total",
    "Questions to the LLM gate: known already, answered, or left to the rules because the endpoint was slow, broken, "
    "wrong or resting (open), or the batch's time over (late)",
    ("outcome",),
)
WEBHOOKS = Counter(
    "agent_feedback_webhooks_total",
    "Attempts to hand an event to a receiver: delivered, failed, or failed for the last time (dead)",
    ("endpoint", "outcome"),
)
ARTIFACTS = Counter(
    "agent_feedback_artifacts_total",
    "Objects of the artifact store that were written or deleted, and steps that it failed",
    ("outcome",),
)
ARTIFACTS_WAITING = Gauge("agent_feedback_artifacts_waiting", "Changes of turns that the artifact store has not yet")
DETECTORS = Gauge(
    "agent_feedback_detectors",
    "1 for each version of the detector that has judged in the last five minutes; two during a rollout",
    ("version",),
)
BREAKER = Gauge(
    "agent_feedback_breaker_open", "1 while a consumer is held because its own code keeps failing", ("group",)
)
READY = Gauge("agent_feedback_ready", "1 while the part is ready", ("part",))
HTTP_FAILURES = Counter(
    "agent_feedback_http_failures_total", "Requests that our own code failed on (answered 500)", ("route",)
)
HTTP_CLOSED = Counter(
    "agent_feedback_http_connections_closed_total",
    "HTTP connections closed by us: too slow with a request (slow) or too large a body after a refusal (too large), a "
    "response that is not read (not reading), to make room for another (crowded), or no room at all (refused)",
    ("reason",),
)
