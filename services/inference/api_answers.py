"""What inference's HTTP routes give."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict

from contracts.base import CorrectionType
from contracts.instants import format_instant
from inference.detection import Detection
from inference.model import DecidedBy, Feedback, GateCall, Reaction, Verdict
from inference.planner import render
from inference.turn_candidates import Candidate
from inference.turns import Turn, metadata_name


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


class FoundCandidate(FoundTarget):
    """One of the person's turns that the message may be about; the score as of a target."""

    conversation_id: str

    @classmethod
    def of(cls, one: Candidate) -> FoundCandidate:
        return cls(conversation_id=one.conversation.conversation_id, **asdict(one.target))


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
    candidates: list[FoundCandidate]
    rejections_in_a_row: int
    planner_markdown: str | None

    @classmethod
    def of(cls, found: Detection) -> Detected:
        target = found.verdict.target
        return cls(
            feedback=FeedbackResult.of(found.verdict),
            target=FoundTarget.model_validate(target) if target else None,
            candidates=[FoundCandidate.of(one) for one in found.candidates],
            rejections_in_a_row=found.rejections,
            planner_markdown=render(found.advice) if found.advice else None,
        )


class KnownTurn(BaseModel):
    """What is known of a turn. Scores: see the documentation of the turn index."""

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


class FoundStrategy(KnownTurn):
    """A turn to learn from. `similarity` of its question to the text searched for, 0 to 1; null without one."""

    similarity: float | None

    @classmethod
    def of(cls, turn: Turn) -> FoundStrategy:
        return cls(**_told(turn), similarity=turn.similarity)


class FoundStrategies(BaseModel):
    items: list[FoundStrategy]


class TurnMetadata(KnownTurn):
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
