"""Response bodies of the inference service's HTTP routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from contracts.base import CorrectionType
from contracts.instants import format_instant
from detector.model import DecidedBy, Feedback, GateCall, Reaction, TargetRule
from detector.reasons import reason_in_words
from inference import detection
from inference.planner import render
from inference.turns.rules import METADATA_NAME, Turn

Time = Annotated[str | None, BeforeValidator(lambda time: None if time is None else format_instant(time))]
MetadataName = Annotated[str | None, BeforeValidator(METADATA_NAME.get)]


class Answer(BaseModel):
    """A response body that is read from the attributes of a verdict or a turn."""

    model_config = ConfigDict(from_attributes=True, validate_by_name=True, use_attribute_docstrings=True)


class FoundTarget(Answer):
    """The agent message that a verdict is about."""

    turn_id: str
    """The turn that the agent message belongs to: a person's question and the agent's answer."""
    message_id: str
    """The id of the agent message."""
    agent_id: str
    """The agent that wrote the message."""
    score: float
    """The score of the target: 0.85 * similarity + 0.15 * recency."""
    similarity: float
    """Similarity between the target's turn and the new message, 0 to 1."""
    recency: float
    """Recency of the target's turn, 0 to 1."""
    turns_back: int
    """Number of answers back, counted from 1 for the latest answer."""
    rule: TargetRule
    """The rule that selected the agent message. `named`: the person's message replies to it. `thread`, `own_latest`: it
    is the latest answer to the writer, in the thread or in the channel. `older_named`: the person's message contains
    words that occur only in this older answer."""


class FoundCandidate(FoundTarget):
    """An earlier turn that the message may be about, with the fields of a target."""

    conversation_id: str
    """The conversation, also called thread."""


class FeedbackResult(Answer):
    """The detector's verdict on a message that may be feedback on an earlier answer."""

    feedback_type: Feedback = Field(validation_alias="feedback")
    """rejected, accepted or neutral."""
    confidence: float
    """Estimated probability that the verdict is right, 0 to 1. See docs/detector.md for the measured rates."""
    correction_type: CorrectionType | None
    """The type of rejection: explicit, rephrased or abandonment; null if the verdict is not a rejection."""
    user_said: str
    """The text of the message."""
    reaction: Reaction | None
    """The verdict as a reaction; null if the message is not feedback."""
    gate: GateCall
    """The gate's classification of the message."""
    decided_by: DecidedBy
    """The part that decided: `rules`, the learned layer (`learned`), or a language model (`llm`)."""
    reasons: Annotated[list[str], BeforeValidator(reason_in_words)] = Field(validation_alias="rules")
    """The deciding rule in words, as the predicate of a sentence about the message."""
    rules: list[str]
    """The names of the patterns and rules that matched."""
    encoder: str | None
    """The reader that read the message with its answer; null if only patterns judged."""
    scores: dict[str, float]
    """The numbers behind the verdict by name, such as the reader's probabilities."""
    new_topic: bool = Field(validation_alias="status_only")
    """True if the message starts a new topic. This changes the turn's status, but is never announced."""
    would_be_announced: bool = Field(validation_alias="emitted")
    """True if this verdict will be announced when the chat publishes the message."""


class KnownTurn(Answer):
    """The known facts about a turn. A field is null if no event has provided its value."""

    conversation_id: str = Field(validation_alias=AliasPath("key", "conversation_id"))
    """The conversation, also called thread."""
    turn_id: str = Field(validation_alias=AliasPath("key", "turn_id"))
    """The turn: a person's question and the agent's answer."""
    ts: Time = Field(validation_alias="at")
    """Time of the turn's earliest known message."""
    user_id: str | None
    """The person who asked the question."""
    agent_id: str | None
    """The agent that gave the answer."""
    intent: str | None
    """The platform's classification of the question."""
    strategy: str | None
    """The strategy that the agent used for the answer."""
    validation_outcome: str | None
    """The result of the platform's own validation of the answer."""
    quality_score: float | None
    """The quality of the answer as scored by the platform, 0 to 1."""
    user_feedback_status: Feedback = Field(validation_alias="status")
    """Verdict on the answer: rejected, accepted or neutral."""
    feedback_confidence: float = Field(validation_alias=AliasPath("feedback", "confidence"))
    """Confidence of the verdict, 0 to 1."""
    satisfaction: float
    """A score from -1 to 1 that combines the platform's validation with the person's feedback."""
    ranking_score: float
    """A score from -0.4 to 0.8 that combines quality and feedback: quality_score * 0.6 + weight * 0.4."""


class FoundStrategy(KnownTurn):
    """A turn whose strategy the planner may reuse."""

    similarity: float | None
    """Similarity between the turn's question and the searched text, 0 to 1; null if no text was given."""


class FoundStrategies(BaseModel):
    items: Annotated[list[FoundStrategy], Field(description="The results.")]


class Detected(Answer):
    """The verdict on a person's message, the agent message that is judged, and a section for the planner's prompt."""

    feedback: FeedbackResult
    """The verdict on the message."""
    target: FoundTarget | None
    """The agent message that the verdict is about; null if there is none."""
    candidates: list[FoundCandidate]
    """The turns that the message may be about, most probable first."""
    rejections_in_a_row: int
    """The number of consecutive rejected answers, up to and including the latest one."""
    planner_markdown: str | None
    """A section for the planner's prompt; null if the last answer has no feedback and there are no strategies."""
    answer_not_seen: bool
    """True if the latest messages may be missing because they were not indexed yet and `previous` was not given."""
    strategies: list[FoundStrategy]
    """Strategies that worked for similar questions, best first; empty unless requested."""

    @classmethod
    def of(cls, result: detection.Detected, worked: Sequence[Turn] = (), *, answer_not_seen: bool = False) -> Detected:
        target = result.verdict.target
        return cls(
            feedback=FeedbackResult.model_validate(result.verdict),
            target=FoundTarget.model_validate(target) if target else None,
            candidates=[
                FoundCandidate(conversation_id=candidate.conversation.conversation_id, **asdict(candidate.target))
                for candidate in result.candidates
            ],
            rejections_in_a_row=result.advice.rejections if result.advice else 0,
            planner_markdown=render(result.advice, worked, may_lack_latest=answer_not_seen),
            answer_not_seen=answer_not_seen,
            strategies=[FoundStrategy.model_validate(turn) for turn in worked],
        )


class UserFeedback(Answer):
    """A person's feedback on a turn, in the format that the strategy learner reads."""

    status: Feedback
    """rejected, accepted or neutral."""
    detected_at: Time
    """The time of the feedback; null if there is none."""
    detected_in_turn: str | None = Field(validation_alias="detected_in")
    """The turn of the message in which the feedback was detected; null if the person reacted to the turn itself."""
    correction_type: MetadataName
    """explicit_correction, rephrased_query or abandonment; null unless the turn was rejected."""
    confidence: float
    """Confidence of the feedback, 0 to 1."""
    user_said: str | None
    """The text of the message that gave the feedback."""


class TurnMetadata(KnownTurn):
    """The metadata of a turn, in the format of metadata.json. Unknown values are null."""

    agent_message_id: str | None
    """The id of the agent's message in the turn."""
    rejection_detected_in: str | None
    """The turn of the message that rejected this turn; null if no message rejected it."""
    correction_type: MetadataName = Field(validation_alias=AliasPath("feedback", "correction_type"))
    """The type of rejection; null unless the turn was rejected."""
    user_said: str | None = Field(validation_alias=AliasPath("feedback", "user_said"))
    """The text of the message that gave the feedback."""
    tags: list[str] = Field(validation_alias=AliasPath("feedback", "tags"))
    """The reason tags chosen by the person."""
    correction: str | None = Field(validation_alias=AliasPath("feedback", "correction"))
    """The correct answer, in the person's words."""
    judged_by_user: bool
    """True if a person's judgement or emoji determines the status; false if it is derived from a message."""
    track_id: str | None
    """The platform's track that the answer belongs to."""
    bundle_id: str | None
    """The platform's bundle (application) that produced the answer."""
    session_id: str = Field(validation_alias=AliasPath("key", "conversation_id"))
    """The id of the conversation."""
    timestamp: Time = Field(validation_alias="at")
    """The time of the turn's earliest known message; the same as `ts`."""
    user_feedback: UserFeedback = Field(validation_alias="feedback")
    """The feedback on the answer, and where it comes from."""
