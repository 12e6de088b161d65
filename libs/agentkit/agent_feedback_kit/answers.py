"""Types of the service's JSON responses. Times are RFC 3339 strings in UTC. Objects may have additional fields."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Reaction = Literal["ok", "not_ok", "neutral"]
Origin = Literal["user", "machine", "reviewer"]
FoundType = Literal["implicit", "reaction", "explicit", "inferred", "rating", "verdict"]
"""Type of feedback to find. `implicit`: replies. `rating`: ratings on the project's own scales. `verdict`: all types
except `implicit` and `rating`."""
Status = Literal["accepted", "neutral", "rejected"]
Label = Literal["positive", "negative", "skip"]
ExportKind = Literal["kto", "dpo", "sft", "events", "detector"]


class AcceptedFeedbackJson(TypedDict):
    """Response to submitted feedback, sent after the log has accepted it.

    All judgements by one person on one turn have the same id.
    """

    feedback_id: str
    ts: str


class OwnRatingJson(TypedDict):
    """The caller's rating on one of the project's own rating scales."""

    scale: str
    rating: int
    worst_rating: int
    best_rating: int
    text: str | None
    ts: str


class OwnFeedbackJson(TypedDict):
    """The caller's own feedback on a turn. Without feedback, all fields from `reaction` on are null or empty.

    `rating` is the rating from which `reaction` was derived. `ratings` are the ratings on the project's own scales.
    """

    conversation_id: str
    turn_id: str
    user_id: str
    reaction: Reaction | None
    feedback_type: str | None
    text: str | None
    tags: list[str]
    correction: str | None
    emoji: str | None
    ts: str | None
    rating: NotRequired[int | None]
    worst_rating: NotRequired[int | None]
    best_rating: NotRequired[int | None]
    ratings: NotRequired[list[OwnRatingJson]]


class RefusedLineJson(TypedDict):
    """Rejected event. `line` is the event's position in the call, counted from 1."""

    line: int
    reason: str
    detail: str


class IngestedJson(TypedDict):
    """Number of events written to the log, and the rejected events.

    `refused` has at most 1,000 events for each HTTP request of the call; `refused_total` counts all of them.
    """

    accepted: int
    refused: list[RefusedLineJson]
    refused_total: int


class EndedSessionJson(TypedDict):
    status: Literal["ended"]


class MemoryStatusJson(TypedDict):
    thread_id: str
    session_feedback_count: int


class FeedbackResultJson(TypedDict):
    """Verdict on the previous answer, derived from the user's next message."""

    feedback_type: Status
    confidence: float
    correction_type: str | None
    user_said: str
    reaction: Reaction | None
    rules: list[str]
    would_be_announced: bool


class TargetJson(TypedDict):
    """The agent message that a verdict is about. `score` is 0 to 1."""

    turn_id: str
    message_id: str
    agent_id: str
    score: float


class PreviousAnswer(TypedDict):
    """The agent's last answer, passed to `detect` so that the call need not wait until the platform has indexed it.

    `turn_id` is the message's id by default. `question` is the text of the question that was answered.
    """

    message_id: str
    content: str
    turn_id: NotRequired[str]
    agent_id: NotRequired[str]
    strategy: NotRequired[str]
    question: NotRequired[str]


class LatestItemJson(TypedDict):
    """Latest reaction on a turn. `recorded_at` is the time of its last change; a null reaction means a retraction."""

    turn_id: str
    turn_ts: str | None
    feedback_id: str
    user_id: str
    ts: str
    recorded_at: str
    reaction: Reaction | None
    text: str | None
    confidence: float
    origin: Origin
    rn: str


class LatestJson(TypedDict):
    """Latest reactions, one item per turn, oldest change first. Pass the last page's `watermark` to the next query."""

    conversation_id: str
    items: list[LatestItemJson]
    next_cursor: NotRequired[str | None]
    watermark: NotRequired[str | None]


class Strategy(TypedDict):
    """Turn with a strategy that an agent may reuse. `ranking_score` is -0.4 to 0.8."""

    conversation_id: str
    turn_id: str
    strategy: str
    intent: str | None
    quality_score: float | None
    user_feedback_status: Status
    ranking_score: float
    similarity: float | None


class DetectedJson(TypedDict):
    """Verdict derived from a message, and a section for the planner's prompt.

    `planner_markdown` is null if there is nothing to report. `answer_not_seen` is true if the latest messages may not
    have been indexed when the message was judged. `strategies` have positive feedback on similar questions; the list is
    empty unless requested.
    """

    feedback: FeedbackResultJson
    target: TargetJson | None
    candidates: list[dict[str, Any]]
    rejections_in_a_row: int
    planner_markdown: str | None
    answer_not_seen: NotRequired[bool]
    strategies: NotRequired[list[Strategy]]


class Strategies(TypedDict):
    """Strategies that were not rejected: accepted ones first, then neutral ones; each group is sorted by quality."""

    items: list[Strategy]


class CountsJson(TypedDict):
    """Counts of effective reactions: total = user + machine + reviewer = ok + not_ok + neutral."""

    total: int
    user: int
    machine: int
    reviewer: int
    ok: int
    not_ok: int
    neutral: int


class PeriodItemJson(TypedDict):
    conversation_id: str
    last_activity_at: str
    started_at: str | None
    feedback_counts: CountsJson
    turns: list[dict[str, Any]]


class Period(TypedDict):
    """Conversations with feedback in a window, newest activity first. `next_cursor` is null at the end."""

    tenant: str
    project: str
    window: dict[str, str]
    items: list[PeriodItemJson]
    next_cursor: str | None


class FoundFeedbackJson(TypedDict):
    feedback_id: str
    conversation_id: str
    turn_id: str
    agent_id: str
    agent_version: str | None
    model: str | None
    user_id: str
    origin: Origin
    feedback_type: str
    reaction: Reaction | None
    value: float | None
    confidence: float
    text: str | None
    tags: list[str]
    correction: str | None
    emoji: str | None
    detector: str | None
    decided_by: str | None
    ts: str


class SearchPage(TypedDict):
    """Feedback that counts, and replies, newest first.

    A reply has no reaction. `next_cursor` is null on the last page.
    """

    items: list[FoundFeedbackJson]
    next_cursor: str | None


class FilterArguments(TypedDict, total=False):
    """Filters for a search or an export; all given filters must match. Times are RFC 3339 strings."""

    agent_id: str
    agent_version: str
    model: str
    reaction: Reaction
    origin: Origin
    feedback_type: FoundType
    tag: str
    min_confidence: float
    text: str
    user_id: str
    given_by: Literal["person", "agent"]
    conversation_id: str
    start: str
    end: str
