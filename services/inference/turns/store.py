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


@dataclass(frozen=True, slots=True)
class UserReaction:
    """A person's explicit feedback or emoji on a turn, or a review of it; the highest revision holds.

    `status` None: retracted. Of one person's the newest counts. If that is an `explicit` one that was retracted, none
    does; a removed emoji and a retracted review leave the one before. Reviews count if no person's reaction does.
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
class Wanted:
    """Filter of turns with a strategy; None matches everything. `text` is a question like the turn's.

    `praised`: only turns that somebody accepted in so many words, or by a reaction; not those that were merely followed
    up.
    """

    tenant: str
    project: str
    intent: str | None = None
    user_id: str | None = None
    text: str | None = None
    agent_id: str | None = None
    praised: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """All of a person's turns in a project from `since` to before `until`, both in microseconds."""

    tenant: str
    project: str
    user_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class HeldVerdict:
    """The verdict that was held of a message, and the turn that a verdict on it was last announced for.

    `stamp` is `NOTHING_HELD` if none was held.
    """

    stamp: VerdictStamp
    announced: bool
    emitted_turn_id: str | None
    emitted_agent_id: str | None


NOTHING_HELD: Final = VerdictStamp(-1, "", -1)


class TurnIntake(Protocol):
    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]], detector: str = UNVERSIONED
    ) -> Mapping[MessageKey, HeldVerdict]:
        """Join facts, at most one per turn, with what is known; let the verdicts stand for the turns they are about.

        `detector` is the version that gave the verdicts. A verdict replaces an earlier one on the same message of no
        higher stamp; one that says nothing, or names no turn, leaves the turn to whatever else was said of it. Returns
        what was held of the judged messages before. Committed on return.
        """
        ...


class TurnSearch(Protocol):
    async def find(self, key: TurnKey) -> Turn | None:
        """Return the known facts of a turn."""
        ...

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """The answered turns of a thread, or of the channel, from at most `until` (microseconds), newest first."""
        ...

    async def nearby(self, looked: Looked, text: str) -> Sequence[Answered]:
        """A person's answered turns whose answers are most like `text`, and the latest ones; about fifty in all."""
        ...

    async def search(self, wanted: Wanted, limit: int) -> Sequence[Turn]:
        """The best turns with a strategy, as `turns.ranked` orders them; none that was rejected.

        With a text, of each group the best turns are looked at and those whose questions are like it are ranked.
        """
        ...


class TurnIndex(TurnIntake, TurnSearch, Protocol):
    async def take_reactions(self, reactions: Collection[UserReaction]) -> set[UUID]:
        """Take in how people reacted, at most one per feedback; gives those that were news. Committed on return."""
        ...

    async def forget(self, feedback_ids: Collection[UUID]) -> None:
        """Drop reactions whose person was forgotten. Committed on return."""
        ...
