"""Events of the platform's own services: feedback, verdicts, ratings and erasures."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, Self
from uuid import UUID

from pydantic import Field, model_validator

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
    Sequence64,
    Text,
)
from contracts.chat import EmojiAction, EmojiField, OptionalEmoji, Replaces
from contracts.fields import (
    AgentContent,
    AgentId,
    AgentMessageId,
    BestRating,
    ConversationId,
    Correction,
    CorrectionTypeField,
    Evaluation,
    OptionalText,
    Rating,
    Reviews,
    SaidByUserType,
    Tags,
    Truncated,
    TurnId,
    UserId,
    WorstRating,
)
from contracts.instants import Instant
from contracts.provenance import ExchangeFields, ProvenanceFields


class AboutAgent(ExchangeFields, ProvenanceFields, Event):
    """An event about an agent's message, including its provenance, such as the agent's version and model."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    agent_message_id: AgentMessageId
    agent_message_content: AgentContent
    truncated: Truncated = False


class FeedbackReplyReceived(AboutAgent):
    """Event sent when a person or another agent replies to an agent's message.

    A reply shows engagement; it is not a verdict.
    """

    message_id: Id
    """The message id of the reply."""
    reply_sender_id: Id
    """The sender of the reply."""
    reply_sender_type: Literal["human", "agent"]
    """`human` if a person wrote the reply, or `agent`."""
    reply_content: Text
    """The reply's text, truncated to 10,000 characters."""


class FeedbackReactionReceived(AboutAgent):
    """Event sent when a person or another agent adds an emoji to an agent's message or removes it."""

    reaction_user_id: UserId
    reaction_user_type: SaidByUserType
    emoji: OptionalEmoji = None
    action: EmojiAction = "added"
    replaces: Replaces = False


class FeedbackExplicitReceived(ExchangeFields, ProvenanceFields, Event):
    """Event sent when a person judges the answer of a turn or retracts the judgement."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    agent_message_id: Id | None = None
    """The agent's message in that turn, if known."""
    user_id: UserId
    user_type: SaidByUserType = "human"
    reaction: Reaction | None
    """The judgement; null retracts the previous one."""
    text: OptionalText = None
    tags: Tags = ()
    correction: Correction = None
    reviews: Reviews = None
    rating: Rating = None
    worst_rating: WorstRating = None
    best_rating: BestRating = None
    timed_by_log: bool = False
    """True if the log time counts instead of `occurredAt`, because `occurredAt` is only the time of the producer's
    clock."""
    given_at: Instant | None = None
    """The time stated in the request, if any. With `timedByLog` this time counts instead of the log time, unless it
    is later."""

    @model_validator(mode="after")
    def _is_on_its_scale(self) -> Self:
        if self.rating is None:
            return self
        ends = sorted(end for end in (self.worst_rating, self.best_rating) if end is not None)
        if len(set(ends)) < 2 or not ends[0] <= self.rating <= ends[1]:
            raise ValueError("a rating must be on the scale from worstRating to bestRating")
        return self


class InferenceTarget(Model):
    """The agent's message that a verdict is about, and the scores by which this message was selected."""

    message_id: AgentMessageId
    score: float
    """The score of the target: 0.85 * similarity + 0.15 * recency."""
    similarity: float
    """Similarity of the target's turn to the person's message, 0 to 1."""
    recency: float
    """Recency of the target's turn, 0 to 1."""
    turns_back: Annotated[int, Field(ge=1)]
    """Number of agent messages from the target to the person's message; 1 is the latest answer."""
    rule: Literal["named", "thread", "own_latest", "older_named"] | None = None
    """The rule that found the target. `named`: the message is a reply to it. `thread`, `own_latest`: the latest
    answer to the writer of the message, in the thread or in the channel. `older_named`: the message contains words
    that occur only in this older answer."""


class FeedbackInferredReceived(ExchangeFields, ProvenanceFields, Event):
    """Event sent when the detector infers a verdict on an agent's answer from a person's message, or retracts one."""

    conversation_id: ConversationId
    turn_id: TurnId
    agent_id: AgentId
    detected_in_turn_id: Id
    """The turn of the message with the verdict."""
    detected_in_message_id: Id
    """The message with the verdict. A message gives at most one feedback record."""
    user_id: UserId
    user_type: SaidByUserType = "human"
    verdict: Literal["rejected", "accepted"] | None
    """The verdict on the answer; null retracts an earlier verdict from this message."""
    reaction: Reaction | None
    """The verdict as a reaction: `not_ok` if it is rejected, `ok` if it is accepted, null if there is none."""
    correction_type: CorrectionTypeField = None
    confidence: Confidence
    """The estimated probability that the verdict is right, 0 to 1. docs/detector.md has measurements."""
    user_said: Text
    """The message's text, truncated to 10,000 characters."""
    truncated: Truncated = False
    target: InferenceTarget | None = None
    """The agent message that the verdict is about, and the reason for this choice."""
    rules: tuple[Label, ...] = ()
    """The names of the patterns, rules and features behind the verdict."""
    rule: Label | None = None
    """The rule that decided (docs/detector.md), `learned` for the learned layer or `llm` for a language model; null in
    a retraction."""
    reasons: tuple[Label, ...] = ()
    """The deciding rule in English. The person's message is the subject: `rejects the answer`."""
    decided_by: DecidedBy = "rules"
    """The part of the detector that decided: its rules, its learned layer (`learned`), or a language model (`llm`)."""
    detector: Label
    """The detector's name."""
    detector_version: Label
    """The detector's version: its release and a digest of code, weights and models, such as `3.a1b2c3d4`. Without a
    sentence encoder it has the suffix `-words`, with a language model `-gate`. Of two verdicts on one message, the one
    by the higher release counts, then the one with a language model, then the one with an encoder, then the one with
    the higher `evaluation`."""
    evaluation: Evaluation


class PersonRequest(Envelope):
    """A request about a person's data in all projects of the tenant."""

    user_id: Id
    """The person."""
    requested_by: Id | None = None
    """The subject of the token with which the request was sent; null if it is unknown."""


class FeedbackErasureRequested(PersonRequest):
    """Event sent when the erasure of a person is requested.

    All services must delete the person's messages and feedback in all projects of the tenant.
    """

    request_id: Id
    """The id of the erasure request, for the operator's records."""


class FeedbackTrainingChosen(PersonRequest):
    """Event sent when training on a person's data is forbidden, or allowed again. Nothing is erased."""

    training_allowed: bool
    """False if no model may be trained on the person's data. The person's latest choice counts."""


ServiceName = Literal["chat_bridge", "feedback", "inference", "reporting"]
"""Name of a service. Each service stores people's messages or feedback."""


class FeedbackErasureConfirmed(Envelope):
    """Event sent when a service has erased a person's messages and feedback from its store."""

    user_id: Id
    """The person."""
    request_id: Id
    """The id of the erasure request."""
    service: ServiceName
    """The service that confirms the erasure."""
    removed: Annotated[int, Field(ge=0)]
    """The number of rows that the service changed or deleted."""


class FeedbackSessionCreated(Envelope):
    """Event sent when a person rates a session at its end, or skips the rating. It contains no text."""

    id: UUID
    """The id of the rating."""
    session_id_opaque: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the session's thread id, in hexadecimal."""
    user_id_or_null: Id | None
    """The person who rated the session; null if the person was erased before the rating was announced."""
    recorded_at: Instant
    """The time at which the rating was recorded."""
    label: Literal["positive", "negative", "skip"]
    """The rating; `skip` if the person gave none."""
    turn_count_at_end: Annotated[int, Field(ge=0)]
    """The number of turns of the session at its end."""
    source: Literal["cli_end", "cli_exit", "api_end"]
    """The interface in which the rating was given."""
    schema_version: Literal[1] = 1
    """The version of the stored record."""
    idempotency_key: Id | None = None
    """Derived from the caller's key, the session and the person. Two ratings with the same key are one rating."""


class FeedbackCreated(ExchangeFields, ProvenanceFields, Event):
    """Event sent when a feedback record is created, updated or cleared.

    If there are several events with the same `feedbackId`, the one with the highest `revision` counts.
    """

    feedback_id: UUID
    """The id of the feedback record. It is derived from the record's facts, so that no feedback is counted twice."""
    change: Literal["created", "updated", "cleared"]
    """The change that this revision made. A cleared record does not count."""
    revision: Sequence64
    """A number that grows with every change of the record. Keep the record with the highest revision."""
    recorded_at: Instant
    """The time at which the feedback service stored this revision, by the log's clock."""
    conversation_id: ConversationId
    turn_id: TurnId
    agent_message_id: Id | None
    """The agent's message that the feedback is about, if known."""
    agent_id: AgentId
    user_id: UserId
    user_type: SaidByUserType
    origin: Origin
    """`user`: a person's own feedback. `machine`: inferred from a person's message. `reviewer`: a reviewer's judgement,
    which replaces the machine's verdicts on the turn."""
    feedback_type: FeedbackType
    """`implicit`: a reply. `reaction`: an emoji. `explicit`: a judgement or a rating of the answer. `inferred`: a
    verdict inferred from a message."""
    source: Label
    """The source of the feedback: `chat` or `post` (replies and emoji), `api` (judgements), `review` (a reviewer's
    judgement of another person's turn) or `inference`."""
    source_id: Annotated[str, Field(min_length=1, max_length=512)]
    """The item of `source` that the feedback came from: the id of the reply, of the message with the emoji, of the
    judged turn, or of the message with an inferred verdict, with the detector's name."""
    reaction: Reaction | None
    """The verdict on the answer; null for replies, which are not verdicts, and for a cleared record."""
    value: Annotated[float, Field(ge=-1, le=1)] | None
    """The reward, -1 to 1; null while the record is cleared."""
    confidence: Confidence
    """The confidence that the person meant this verdict, 0 to 1; 1 for a person's own feedback."""
    text: Text | None
    """The person's text: the reply, the reason for a judgement, or the message with an inferred verdict."""
    tags: Annotated[
        Tags, Field(description="The reasons that the person chose; for inferred feedback, the patterns that fired.")
    ]
    correction: Correction
    emoji: EmojiField | None
    """The emoji that counts; null for other types of feedback."""
    correction_type: CorrectionTypeField
    rn: Annotated[str, Field(min_length=1, max_length=2048)]
    """The record's resource name, `ef:<tenant>:<project>:<user>:<conversation>:<turn>:artifact:<feedbackId>`."""
    causation_id: Id
    """The `eventId` of the event that caused this change."""
    reviews: Reviews = None
    overruled_by: UUID | None = None
    """For a cleared machine verdict: the `feedbackId` of the review that replaces it. Null if the machine retracted the
    verdict itself."""
    overruled_reaction: Reaction | None = None
    """For an overruled machine verdict: the machine's own reaction, for measuring the machine. It does not count."""
    detector: Label | None = None
    """For a machine verdict: the version of the detector, such as `3.a1b2c3d4`. Null for people's feedback."""
    decided_by: DecidedBy | None = None
    """For a machine verdict: the part of the detector that decided, which is its rules (`rules`), its learned layer
    (`learned`), or a language model (`llm`)."""
    rating: Rating = None
    worst_rating: WorstRating = None
    best_rating: BestRating = None
    training_allowed: bool = True
    """False if the person forbids training on their data (`feedback.training.chosen`)."""


class FeedbackErased(NamedTuple):
    """Tombstone on the topic of `FeedbackCreated`: all revisions of a feedback record up to `revision` are erased."""

    feedback_id: UUID
    revision: int
