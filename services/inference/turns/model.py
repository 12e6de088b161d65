"""Values that the turn index takes and returns. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from contracts.detectors import DetectorVersion
from contracts.message_fields import TurnKey
from detector.model import Feedback

SIMILARITY_THRESHOLD: Final = 0.35
"""Minimum similarity for questions to count as similar. 75 % of rephrased and 3 % of unrelated questions reach it."""


@dataclass(frozen=True, slots=True)
class UserReaction:
    """A person's explicit feedback or emoji on a turn, or a review of the turn.

    The highest revision of a reaction is effective. `status` is None if the feedback was retracted.

    If a person has reacted to a turn several times, the newest reaction is effective. If that is retracted explicit
    feedback, the person has no effective reaction. Removed emojis and retracted reviews are ignored, so the reaction
    before them becomes effective again. Reviews only count if no person has an effective reaction.
    """

    feedback_id: UUID
    turn: TurnKey
    user_id: str
    explicit: bool
    reviewer: bool
    status: Feedback | None
    text: str | None
    tags: tuple[str, ...]
    correction: str | None
    at: int
    revision: int


@dataclass(frozen=True, slots=True)
class StrategyFilter:
    """Filter for turns that have a strategy. A field that is None matches every turn.

    Attributes:
        text: Text to compare with the questions of the turns.
        praised: True to select only turns that were accepted in words or by a reaction, not merely by a follow-up
            question.
    """

    tenant: str
    project: str
    intent: str | None = None
    user_id: str | None = None
    text: str | None = None
    agent_id: str | None = None
    praised: bool = False


class PersonTurns(NamedTuple):
    """Filter for a person's turns in a project, from `since` (inclusive) to `until` (exclusive), in microseconds."""

    tenant: str
    project: str
    user_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class PreviousVerdict:
    """The previous verdict on a message, and the last announced verdict on it. The two may differ.

    Attributes:
        detector: Version of the detector that gave the previous verdict, or None if there was none.
        evaluation: Evaluation of the previous verdict.
        announced: True if the previous verdict was announced.
        emitted_turn_id: Turn of the last announced verdict, or None if none was announced.
        emitted_agent_id: Agent of the last announced verdict, or None if none was announced.
    """

    detector: DetectorVersion | None
    evaluation: int
    announced: bool
    emitted_turn_id: str | None
    emitted_agent_id: str | None
