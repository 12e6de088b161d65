"""What inference's HTTP routes take and give."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.base import TEXT_LIMIT, CorrectionType, Id, Label, Text
from contracts.instants import Instant, format_instant
from inference.detection import Detection
from inference.model import DecidedBy, Feedback, GateCall, Reaction, Verdict
from inference.planner import render
from inference.turns import Turn, metadata_name


class Malformed(Exception):
    """The body does not read as it must; `faults` are pydantic's complaints."""

    def __init__(self, faults: list[Any]) -> None:
        super().__init__("malformed")
        self.faults = faults


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NewMessage(Body):
    """A person's message that the agent is about to answer."""

    text: Text = Field(description=f"What was written, at most {TEXT_LIMIT} characters.")
    ts: Instant | None = Field(default=None, description="When, RFC 3339 with an offset; else now.")
    message_id: Id | None = Field(default=None, description="Its id, where the chat has one already.")
    turn_id: Id | None = Field(default=None, description="The turn it opens; else the message's id.")


class StrategySearch(Body):
    """Narrows the search to one intent, or to one person's turns, or both."""

    intent: Label | None = None
    user_id: Id | None = None
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 10


GivenBody = TypeVar("GivenBody", bound=Body)


def read_body(model: type[GivenBody], body: bytes) -> GivenBody:
    """The value that a JSON body holds. Raises Malformed."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise Malformed(error.errors(include_url=False, include_context=False, include_input=False)) from None
    except (ValueError, RecursionError):
        raise Malformed([{"loc": (), "msg": "not one JSON value in UTF-8"}]) from None


class FoundTarget(BaseModel):
    """The agent message a verdict is about: score = 0.85 * similarity + 0.15 * recency, each 0 to 1."""

    model_config = ConfigDict(from_attributes=True)

    turn_id: str
    message_id: str
    agent_id: str
    score: float
    similarity: float
    recency: float
    turns_back: int


class FeedbackResult(BaseModel):
    """What the message says. `would_be_announced`: as a feedback, once the chat publishes the message."""

    feedback_type: Feedback
    confidence: float
    correction_type: CorrectionType | None
    user_said: str
    reaction: Reaction | None
    gate: GateCall
    decided_by: DecidedBy
    rules: list[str]
    scores: dict[str, float]
    new_topic: bool
    would_be_announced: bool

    @classmethod
    def of(cls, verdict: Verdict) -> FeedbackResult:
        return cls(
            feedback_type=verdict.feedback,
            confidence=verdict.confidence,
            correction_type=verdict.correction_type,
            user_said=verdict.user_said,
            reaction=verdict.reaction,
            gate=verdict.gate,
            decided_by=verdict.decided_by,
            rules=list(verdict.rules),
            scores=dict(verdict.scores),
            new_topic=verdict.status_only,
            would_be_announced=verdict.emitted,
        )


class Detected(BaseModel):
    """`planner_markdown` is null where nothing is said of the last answer."""

    feedback: FeedbackResult
    target: FoundTarget | None
    rejections_in_a_row: int
    planner_markdown: str | None

    @classmethod
    def of(cls, found: Detection) -> Detected:
        target = found.verdict.target
        return cls(
            feedback=FeedbackResult.of(found.verdict),
            target=FoundTarget.model_validate(target) if target else None,
            rejections_in_a_row=found.rejections,
            planner_markdown=render(found.advice) if found.advice else None,
        )


class FoundStrategy(BaseModel):
    """A turn to learn from. Scores: see the documentation of the turn index."""

    conversation_id: str
    turn_id: str
    ts: str | None
    user_id: str | None
    agent_id: str | None
    intent: str | None
    strategy: str | None
    validation_outcome: str | None
    quality_score: float | None
    user_feedback_status: Feedback
    feedback_confidence: float
    satisfaction: float
    ranking_score: float

    @classmethod
    def of(cls, turn: Turn) -> FoundStrategy:
        return cls(**_told(turn))


class FoundStrategies(BaseModel):
    items: list[FoundStrategy]


class TurnMetadata(FoundStrategy):
    """The metadata.json of a turn; of one that only feedback is known of, what messages tell is null."""

    agent_message_id: str | None
    rejection_detected_in: str | None
    correction_type: str | None
    user_said: str | None
    tags: list[str]
    correction: str | None
    judged_by_user: bool
    track_id: str | None
    bundle_id: str | None

    @classmethod
    def of(cls, turn: Turn) -> TurnMetadata:
        return cls(
            **_told(turn),
            agent_message_id=turn.agent_message_id,
            rejection_detected_in=turn.rejection_detected_in,
            correction_type=metadata_name(turn.correction_type),
            user_said=turn.user_said,
            tags=list(turn.user.tags) if turn.user else [],
            correction=turn.user.correction if turn.user else None,
            judged_by_user=turn.user is not None,
            track_id=turn.track_id,
            bundle_id=turn.bundle_id,
        )


def _told(turn: Turn) -> dict[str, Any]:
    return {
        "conversation_id": turn.key.conversation_id,
        "turn_id": turn.key.turn_id,
        "ts": None if turn.at is None else format_instant(turn.at),
        "user_id": turn.user_id,
        "agent_id": turn.agent_id,
        "intent": turn.intent,
        "strategy": turn.strategy,
        "validation_outcome": turn.validation_outcome,
        "quality_score": turn.quality_score,
        "user_feedback_status": turn.status,
        "feedback_confidence": turn.confidence,
        "satisfaction": turn.satisfaction,
        "ranking_score": turn.ranking_score,
    }
