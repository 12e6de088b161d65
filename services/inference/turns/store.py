"""Port of inference's index of turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from contracts.detectors import UNVERSIONED
from detector.model import Feedback, Verdict
from inference.store import ConversationKey, MessageKey, Placed, VerdictStamp
from inference.turns.candidates import Answered
from inference.turns.facts import Facts
from inference.turns.rules import Turn, TurnKey

SIMILARITY_THRESHOLD: Final = 0.35
"""Minimum similarity of similar questions. Three of four rephrased questions reach it, and 3 % of unrelated ones."""


@dataclass(frozen=True, slots=True)
class UserReaction:
    """A person's explicit feedback or emoji on a turn, or a review of it; the highest revision counts.

    `status` None: retracted. The newest of a person counts. If that is a retracted explicit one, none counts; a removed
    emoji or retracted review uncovers the one before. Reviews count if no person's reaction does.
    """

    feedback_id: UUID
    turn: TurnKey
    user_id: str
    explicit: bool
    reviewer: bool
    status: Feedback | None
    said: str | None
    tags: tuple[str, ...]
    correction: str | None
    at: int
    revision: int


@dataclass(frozen=True, slots=True)
class StrategyFilter:
    """Filter of turns with a strategy; None matches everything. `text` is a question similar to the turn's.

    `praised`: only turns accepted in words or by a reaction, not by a follow-up.
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
    """Range of a person's turns in a project, from `since` to before `until` in microseconds."""

    tenant: str
    project: str
    user_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class PreviousVerdict:
    """Previous verdict of a message, and the turn for which it was last announced.

    `stamp` is `NO_VERDICT` without a verdict.
    """

    stamp: VerdictStamp
    announced: bool
    emitted_turn_id: str | None
    emitted_agent_id: str | None


NO_VERDICT: Final = VerdictStamp(-1, "", -1)


class TurnIntake(Protocol):
    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]], detector: str = UNVERSIONED
    ) -> Mapping[MessageKey, PreviousVerdict]:
        """Merge facts, at most one per turn, apply the verdicts to their turns, and commit.

        `detector` is the version that gave the verdicts. A verdict replaces an earlier one on the same message unless
        that has a higher stamp. A neutral verdict, or one without a turn, leaves the turn to other verdicts. Returns
        the previous verdicts of the judged messages.
        """
        ...


class TurnSearch(Protocol):
    async def find(self, key: TurnKey) -> Turn | None:
        """Return the known facts of a turn."""
        ...

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """Return the answered turns of a thread, or of the channel, up to `until` (microseconds), newest first."""
        ...

    async def nearby(self, looked: PersonTurns, text: str) -> Sequence[Answered]:
        """Return about fifty answered turns of a person: those with answers most similar to `text`, and the latest."""
        ...

    async def search(self, wanted: StrategyFilter, limit: int) -> Sequence[Turn]:
        """Return the best turns with a strategy, in the order of `turns.ranked`, without rejected ones.

        With a text, the best turns of each group are searched for similar questions, which are ranked.
        """
        ...


class TurnIndex(TurnIntake, TurnSearch, Protocol):
    async def take_reactions(self, reactions: Collection[UserReaction]) -> set[UUID]:
        """Store people's reactions, at most one per feedback record, and commit. Returns the ids of new ones."""
        ...

    async def forget(self, feedback_ids: Collection[UUID]) -> None:
        """Delete reactions of erased people and commit."""
        ...
