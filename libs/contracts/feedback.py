"""Feedback events of our services: received, created, erasure requested."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from contracts.base import (
    Confidence,
    DecidedBy,
    Envelope,
    Event,
    FeedbackType,
    Id,
    Label,
    Model,
    Origin,
    Reaction,
    SenderType,
    Sequence64,
    Text,
)
from contracts.chat import EmojiAction, EmojiField
from contracts.fields import (
    AgentContent,
    AgentId,
    AgentMessageId,
    ConversationId,
    Correction,
    CorrectionTypeField,
    Epoch,
    Evaluation,
    OptionalText,
    Reviews,
    SaidByUserType,
    Tags,
    Truncated,
    TurnId,
    UserId,
)
from contracts.instants import Instant
from contracts.provenance import ExchangeFields, ProvenanceFields


class AboutAgent(ExchangeFields, ProvenanceFields, Event):
    """The agent message that a feedback is about, and how the platform says it was made."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    agent_message_id: AgentMessageId
    agent_message_content: AgentContent
    truncated: Truncated = False


class FeedbackReplyReceived(AboutAgent):
    """Somebody replied to an agent's message: engagement, not a verdict."""

    message_id: Id
    """The reply."""
    reply_sender_id: Id
    """Who wrote the reply."""
    reply_sender_type: SenderType
    """Whether a person or an agent wrote the reply."""
    reply_content: Text
    """The reply's text, cut at 10,000 characters."""


class FeedbackReactionReceived(AboutAgent):
    """Somebody put an emoji on an agent's message, or took it away."""

    reaction_user_id: UserId
    reaction_user_type: SaidByUserType
    emoji: EmojiField
    action: EmojiAction = "added"


class FeedbackExplicitReceived(ExchangeFields, ProvenanceFields, Event):
    """A person judged a turn, or took the judgement back."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    agent_message_id: Id | None = None
    """The agent's message in that turn, where it is known."""
    user_id: UserId
    user_type: SaidByUserType = "human"
    reaction: Reaction | None
    """The judgement; null takes back the one before."""
    text: OptionalText = None
    tags: Tags = ()
    correction: Correction = None
    reviews: Reviews = None
    timed_by_log: bool = False
    """True if the log's time counts instead of `occurredAt`, which is then from the writer's clock."""
    given_at: Instant | None = None
    """The time that the person gave, if any; with `timedByLog` it counts unless it is after the log's."""


class InferenceTarget(Model):
    """The agent message that a verdict is about, and why that one."""

    message_id: AgentMessageId
    score: float
    """0.85 * similarity + 0.15 * recency."""
    similarity: float
    """How like the person's message that turn is, 0 to 1."""
    recency: float
    """How recent that turn is, 0 to 1."""
    turns_back: Annotated[int, Field(ge=1)]
    """How many turns before the person's message it lies; 1 is the last answer."""
    rule: Literal["named", "thread", "own_latest", "older_named"] | None = None
    """The rule that found the target: the message's reply (`named`), the latest answer to its writer in the thread or
    in the channel, or words that only an older answer has."""


class FeedbackInferredReceived(ExchangeFields, ProvenanceFields, Event):
    """A detector's verdict of a person's message on an agent's turn."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    detected_in_turn_id: Id
    """The turn of the message that says it."""
    detected_in_message_id: Id
    """The message that says it. One message gives one feedback at most."""
    user_id: UserId
    user_type: SaidByUserType = "human"
    verdict: Literal["rejected", "accepted"] | None
    """What the message says of the answer; null takes an earlier verdict of this message back."""
    reaction: Reaction | None
    """The verdict as a reaction: rejected is `not_ok`, accepted `ok`, null null."""
    correction_type: CorrectionTypeField = None
    confidence: Confidence
    """How sure the detector is, 0 to 1, calibrated."""
    user_said: Text
    """The message's text, cut at 10,000 characters."""
    truncated: Truncated = False
    target: InferenceTarget | None = None
    """How the turn was found."""
    rules: tuple[Label, ...] = ()
    """The patterns that fired, by name."""
    decided_by: DecidedBy = "rules"
    """What decided: the patterns, the learned layer, or a language model."""
    detector: Label
    """The detector's name."""
    detector_version: Label
    """The detector's version: a date and a digest of patterns, weights and sentence encoder, as in
    `2026-11-23.a1b2c3d4`; one without an encoder ends in `-words`."""
    epoch: Epoch = 0
    evaluation: Evaluation


class FeedbackErasureRequested(Envelope):
    """Everything that a person said is to be forgotten, in all projects of the tenant."""

    user_id: Id
    """The person."""
    request_id: Id
    """The request that asked for it, for the operator's records."""


FeedbackKeeper = Literal["chat_bridge", "feedback", "inference", "reporting"]
"""A service that keeps what people said."""


class FeedbackErasureConfirmed(Envelope):
    """A service has removed what a person said from its own store."""

    user_id: Id
    """The person."""
    request_id: Id
    """The request that asked for it."""
    service: FeedbackKeeper
    """The service that confirms."""
    removed: Annotated[int, Field(ge=0)]
    """The rows that it changed or deleted."""


class FeedbackSessionCreated(Envelope):
    """A session was rated at its end. Never any text."""

    id: UUID
    """The record's id."""
    session_id_opaque: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the session's thread id, in hexadecimal."""
    user_id_or_null: Id | None
    """Who rated it; null in an incognito session."""
    recorded_at: Instant
    """When the rating was recorded."""
    label: Literal["positive", "negative", "skip"]
    """The rating."""
    turn_count_at_end: Annotated[int, Field(ge=0)]
    """Turns of the session when it ended."""
    source: Literal["cli_end", "cli_exit", "api_end"]
    """Where the rating was given."""
    schema_version: Literal[1] = 1
    """The version of the stored record."""
    idempotency_key: Id | None = None
    """Made from the caller's key, the session and the person: two ratings with one key are one."""


class FeedbackCreated(ExchangeFields, ProvenanceFields, Event):
    """One feedback as it is now: created, updated or cleared. Of one `feedback_id` the highest `revision` holds."""

    feedback_id: UUID
    """The feedback. The same facts give the same id again, so one feedback is never counted twice."""
    change: Literal["created", "updated", "cleared"]
    """What became of the feedback with this revision; a cleared one counts for nothing."""
    revision: Sequence64
    """Grows with every change of this feedback: keep the highest, drop the others."""
    recorded_at: Instant
    """When the feedback service stored this revision, by the log's clock."""
    conversation_id: ConversationId
    turn_id: TurnId
    agent_message_id: Id | None
    """The agent's message that the feedback is about, where it is known."""
    agent_id: AgentId
    user_id: UserId
    user_type: SaidByUserType
    origin: Origin
    """`user`: a person gave it on purpose. `machine`: it was read out of what a person wrote. `reviewer`: a reviewer's
    judgement, which counts in place of the machine's verdicts on the turn."""
    feedback_type: FeedbackType
    """`implicit`: a reply. `reaction`: an emoji. `explicit`: a judgement. `inferred`: read out of the next message."""
    source: Label
    """What the feedback came from: `chat` (replies and emoji), `api` (judgements), `review` (a reviewer's judgement of
    another person's turn) or `inference`."""
    source_id: Annotated[str, Field(min_length=1, max_length=512)]
    """The id of what it came from, within `source`: the reply, the message with the emoji, the judged turn, or the
    message that a verdict was read out of, with the detector's name."""
    reaction: Reaction | None
    """What the person thinks of the answer; null for a reply, which is no verdict, and for a cleared feedback."""
    value: Annotated[float, Field(ge=-1, le=1)] | None
    """The reward, -1 to 1; null while the feedback is cleared."""
    confidence: Confidence
    """How sure it is that the person meant it, 0 to 1: 1 for what was given on purpose."""
    text: Text | None
    """What the person wrote: the reply, the reason for a judgement, or the message a verdict was read out of."""
    tags: Annotated[
        Tags, Field(description="The reasons that the person chose; of an inferred feedback the patterns that fired.")
    ]
    correction: Correction
    emoji: EmojiField | None
    """The emoji that counts; null for other kinds of feedback."""
    correction_type: CorrectionTypeField
    rn: Annotated[str, Field(min_length=1, max_length=2048)]
    """The feedback's resource name, `ef:<tenant>:<project>:<user>:<conversation>:<turn>:artifact:<feedbackId>`."""
    causation_id: Id
    """The `eventId` of the event that brought this change."""
    reviews: Reviews = None
    overruled_by: UUID | None = None
    """Of a cleared machine verdict: the review that counts in its place, by its `feedbackId`. Null if the machine has
    withdrawn the verdict itself."""
    overruled_reaction: Reaction | None = None
    """Of an overruled verdict: the machine's own reaction, for measuring the machine; it counts for nothing."""
    detector: Label | None = None
    """Of a machine's verdict: the version of the detector that judged, as in `2026-11-23.a1b2c3d4`. Null if release
    0.1.0 judged, and for feedback of people."""
    decided_by: DecidedBy | None = None
    """Of a machine's verdict: what decided, the patterns (`rules`), the learned layer, or a language model (`llm`)."""
    epoch: Sequence64 | None = None
    """Of a machine's verdict: its epoch, which an operator raises to have messages judged again."""
