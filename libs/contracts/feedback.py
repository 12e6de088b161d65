"""What our services say about feedback: what was received, what was created, what is to be forgotten."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from contracts.base import (
    Confidence,
    CorrectionType,
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
    UserType,
)
from contracts.chat import Emoji
from contracts.instants import Instant

Tags = Annotated[tuple[Label, ...], Field(max_length=20)]


class AboutAgent(Event):
    """The agent message that a feedback is about, and what the platform told us of how it was made."""

    conversation_id: Id
    turn_id: Id
    agent_id: Id
    agent_message_id: Id
    agent_message_content: Text
    truncated: bool = False
    track_id: Id | None = None
    bundle_id: Id | None = None
    agent_version: Label | None = None
    model: Label | None = None
    trace_id: Id | None = None


class FeedbackReplyReceived(AboutAgent):
    """Somebody replied to an agent's message: engagement, not a verdict."""

    message_id: Id
    reply_sender_id: Id
    reply_sender_type: SenderType
    reply_content: Text


class FeedbackReactionReceived(AboutAgent):
    """Somebody put an emoji on an agent's message, or took it away."""

    reaction_user_id: Id
    reaction_user_type: UserType
    emoji: Emoji
    action: Literal["added", "removed"] = "added"


class FeedbackExplicitReceived(Event):
    """A person judged a turn; `reaction` null takes the judgement back."""

    conversation_id: Id
    turn_id: Id
    agent_id: Id
    agent_message_id: Id | None = None
    user_id: Id
    user_type: UserType = "human"
    reaction: Reaction | None
    text: Text | None = None
    tags: Tags = ()
    correction: Text | None = None
    track_id: Id | None = None
    bundle_id: Id | None = None
    agent_version: Label | None = None
    model: Label | None = None
    trace_id: Id | None = None


class InferenceTarget(Model):
    """The agent message a verdict is about: score = 0.85 * similarity + 0.15 * recency, each 0 to 1."""

    message_id: Id
    score: float
    similarity: float
    recency: float
    turns_back: Annotated[int, Field(ge=1)]


class FeedbackInferredReceived(Event):
    """What a human message says about an agent's turn, as read by a detector; `verdict` null retracts.

    `evaluation` counts the versions of the conversation's messages that were known at that look: the higher one wins.
    """

    conversation_id: Id
    turn_id: Id
    agent_id: Id
    detected_in_turn_id: Id
    detected_in_message_id: Id
    user_id: Id
    verdict: Literal["rejected", "accepted"] | None
    reaction: Reaction | None
    correction_type: CorrectionType | None = None
    confidence: Confidence
    user_said: Text
    truncated: bool = False
    target: InferenceTarget | None = None
    rules: tuple[Label, ...] = ()
    decided_by: Literal["rules", "learned", "llm"] = "rules"
    detector: Label
    detector_version: Label
    evaluation: Sequence64


class FeedbackErasureRequested(Envelope):
    """Everything a person said is to be forgotten, in all projects of the tenant."""

    user_id: Id
    request_id: Id


class FeedbackSessionCreated(Envelope):
    """A session was rated at its end. Never any text."""

    id: UUID
    session_id_opaque: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    user_id_or_null: Id | None
    recorded_at: Instant
    label: Literal["positive", "negative", "skip"]
    turn_count_at_end: Annotated[int, Field(ge=0)]
    source: Literal["cli_end", "cli_exit", "api_end"]
    schema_version: Literal[1] = 1
    idempotency_key: Id | None = None


class FeedbackCreated(Event):
    """One feedback as it is now: created, updated or cleared. The highest revision per `feedback_id` holds.

    `value` is the reward (-1 to 1) and is null, like `reaction`, while the feedback is cleared.
    """

    feedback_id: UUID
    change: Literal["created", "updated", "cleared"]
    revision: Sequence64
    recorded_at: Instant
    conversation_id: Id
    turn_id: Id
    agent_message_id: Id | None
    agent_id: Id
    user_id: Id
    user_type: UserType
    origin: Origin
    feedback_type: FeedbackType
    source: Label
    source_id: Annotated[str, Field(min_length=1, max_length=512)]
    reaction: Reaction | None
    value: Annotated[float, Field(ge=-1, le=1)] | None
    confidence: Confidence
    text: Text | None
    tags: Tags
    correction: Text | None
    emoji: Emoji | None
    correction_type: CorrectionType | None
    rn: Annotated[str, Field(min_length=1, max_length=2048)]
    track_id: Id | None
    bundle_id: Id | None
    agent_version: Label | None
    model: Label | None
    trace_id: Id | None
    causation_id: Id
