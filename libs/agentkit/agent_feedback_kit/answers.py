"""Types of the service's JSON responses.

Times are RFC 3339 strings in UTC. Objects may contain additional fields.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Reaction = Literal["ok", "not_ok", "neutral"]
Origin = Literal["user", "machine", "reviewer"]
FoundType = Literal["implicit", "reaction", "explicit", "inferred", "verdict"]
"""Type of feedback to find. `implicit`: replies. `verdict`: all other types."""
Status = Literal["accepted", "neutral", "rejected"]
Label = Literal["positive", "negative", "skip"]
ExportKind = Literal["kto", "dpo", "sft", "events"]


class AcceptedFeedbackJson(TypedDict):
    """Response to submitted feedback, sent once the log has accepted it.

    All judgements of a turn by the same person have the same id.
    """

    feedback_id: str
    ts: str


class OwnFeedbackJson(TypedDict):
    """The caller's feedback on a turn.

    If there is none, all fields after `user_id` are null or empty. `reaction` was derived from `rating` if a rating was
    given.
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


class RefusedLineJson(TypedDict):
    """An event that the service rejected. `line` is its position among the events sent, starting at 1."""

    line: int
    reason: str
    detail: str


class IngestedJson(TypedDict):
    """Result of sending events: the number of accepted events, and the list of rejected events.

    Accepted events are in the log. `refused` contains at most 1,000 rejected events per HTTP request, whereas
    `refused_total` counts all of them.
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
    """Verdict on the agent's previous answer, inferred from the user's next message."""

    feedback_type: Status
    confidence: float
    correction_type: str | None
    user_said: str
    reaction: Reaction | None
    rules: list[str]
    would_be_announced: bool


class TargetJson(TypedDict):
    """The agent's message that a verdict is about. `score` is from 0 to 1."""

    turn_id: str
    message_id: str
    agent_id: str
    score: float


class PreviousAnswer(TypedDict):
    """The agent's previous answer. Pass it to `detect` so that the platform need not index it first.

    `turn_id` defaults to the message id. `question` is the text of the message that was answered.
    """

    message_id: str
    content: str
    turn_id: NotRequired[str]
    agent_id: NotRequired[str]
    strategy: NotRequired[str]
    question: NotRequired[str]


class LatestItemJson(TypedDict):
    """The latest reaction on a turn that counts.

    `reaction` is null if all feedback on the turn was retracted. `recorded_at` is the time of the last change of any
    feedback on the turn.
    """

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
    """A page with the latest reaction on each turn, starting with the one that changed first.

    Pass the `watermark` of the last page to the next query.
    """

    conversation_id: str
    items: list[LatestItemJson]
    next_cursor: NotRequired[str | None]
    watermark: NotRequired[str | None]


class Strategy(TypedDict):
    """A turn with a strategy that may be used for other answers. `ranking_score` is from -0.4 to 0.8."""

    conversation_id: str
    turn_id: str
    strategy: str
    intent: str | None
    quality_score: float | None
    user_feedback_status: Status
    ranking_score: float
    similarity: float | None


class DetectedJson(TypedDict):
    """A verdict inferred from a message, and information for the agent's planner.

    `planner_markdown` is text for the planner's prompt, or null if there is nothing to report. `answer_not_seen` is
    true if the message may have been judged before the latest messages were indexed. `strategies` contains strategies
    with positive feedback on similar questions, if any were requested.
    """

    feedback: FeedbackResultJson
    target: TargetJson | None
    candidates: list[dict[str, Any]]
    rejections_in_a_row: int
    planner_markdown: str | None
    answer_not_seen: NotRequired[bool]
    strategies: NotRequired[list[Strategy]]


class Strategies(TypedDict):
    """Strategies that were not rejected: first the accepted ones, then the neutral ones, both sorted by quality."""

    items: list[Strategy]


class CountsJson(TypedDict):
    """Numbers of effective reactions, by origin and by value.

    A reaction is effective if no other reaction has replaced it. `total` = `user` + `machine` + `reviewer` = `ok` +
    `not_ok` + `neutral`.
    """

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
    """A page of the conversations that have feedback in a time window, most recently active first.

    `next_cursor` is null on the last page.
    """

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
    rn: str


class SearchPage(TypedDict):
    """A page of search results, newest first.

    Each result is either effective feedback or a reply. A reply has no reaction. `next_cursor` is null on the last
    page.
    """

    items: list[FoundFeedbackJson]
    next_cursor: str | None


class DetectOptions(TypedDict, total=False):
    """Options of `detect`. An option that is None is left out."""

    turn_id: str | None
    """The turn that the message begins."""
    message_id: str | None
    """Id of the message."""
    user_id: str | None
    """The author of the message, by default the person that the token belongs to."""
    ts: str | None
    """Time of the message (RFC 3339)."""
    look_back: str | None
    """`conversation`, or `user` to also list the person's turns in other conversations that may be meant."""
    reply_to_message_id: str | None
    """The message that this one replies to. It helps to find the answer if several people take part."""
    thread_id: str | None
    """The thread of the message. It also helps to find the answer."""
    previous: PreviousAnswer | None
    """The previous answer."""
    wait_seconds: float | None
    """Maximum wait for the log to be indexed, in seconds."""
    strategies: int | None
    """Maximum number of strategies with positive feedback on similar questions to return, by default 0."""
    intent: str | None
    """The intent that the strategies must have."""
    agent_id: str | None
    """The agent whose strategies are returned, by default that of the previous answer."""


class FilterArguments(TypedDict, total=False):
    """Filters for a search or an export, which must all match. Times are RFC 3339 strings."""

    agent_id: str
    agent_version: str
    model: str
    reaction: Reaction
    origin: Origin
    feedback_type: FoundType
    tag: str
    min_confidence: float
    words: str
    user_id: str
    user_type: str
    given_by: Literal["person", "agent"]
    source: Literal["chat", "post", "api", "inference", "review"]
    conversation_id: str
    thread: str
    bundle_id: str
    track_id: str
    intent: str
    strategy: str
    attributes: dict[str, str]
    issue: int
    detector: str
    decided_by: Literal["rules", "learned", "llm"]
    judged: Literal["ok", "not_ok", "neutral", "any"]
    confidence_bin: int
    start: str
    end: str
