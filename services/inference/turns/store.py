"""Interfaces of the turn index and the types of their arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from contracts.detectors import DetectorVersion
from contracts.message_fields import MessageKey, TurnKey
from detector.model import Feedback, Verdict
from inference.store import ConversationKey, IndexedMessage
from inference.turns.candidates import Answered
from inference.turns.facts import Facts
from inference.turns.rules import Turn

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


@dataclass(frozen=True, slots=True)
class PersonTurns:
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


class TurnIntake(Protocol):
    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[IndexedMessage, Verdict]], detector: DetectorVersion
    ) -> Mapping[MessageKey, PreviousVerdict]:
        """Merge facts into the turn index, apply verdicts to their turns, and commit.

        A verdict replaces the earlier verdict on the same message unless that one has a higher stamp. Neutral verdicts
        and verdicts without a turn do not change the status of any turn.

        Args:
            facts: At most one item per turn.
            judged: The judged messages with their verdicts.
            detector: Version of the detector that judged them.

        Returns:
            The earlier verdicts on the judged messages.
        """
        ...


class TurnSearch(Protocol):
    async def find(self, key: TurnKey) -> Turn | None:
        """Return a turn, or None if nothing is known about it."""
        ...

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """Return up to `limit` answered turns of a thread or channel, newest first, leaving out turns after `until`.

        `until` is in microseconds.
        """
        ...

    async def nearby(self, looked: PersonTurns, text: str) -> Sequence[Answered]:
        """Return about fifty of a person's answered turns: the latest ones and those most similar to `text`."""
        ...

    async def search(self, wanted: StrategyFilter, limit: int) -> Sequence[Turn]:
        """Return up to `limit` turns that have a strategy and are not rejected, ordered as by `turns.rules.ranked`.

        If `wanted` has a text, only turns with similar questions are returned. The search for them covers only the best
        turns of each status.
        """
        ...
