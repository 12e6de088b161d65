"""Interfaces of the turn index, and the types of their arguments."""

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
"""Similarity from which two questions are similar. It is reached by 75 % of rephrased and 3 % of unrelated ones."""


@dataclass(frozen=True, slots=True)
class UserReaction:
    """A person's explicit feedback or emoji on a turn, or a review of it. The highest revision counts.

    `status` is None if the reaction was retracted. Of a person's reactions on a turn, the newest counts. Retracted
    explicit feedback cancels all reactions of the person. A removed emoji or retracted review is ignored, so that the
    preceding reaction counts again. Reviews count only if no reaction of a person counts.
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
    """Filter for turns with a strategy. A field that is None matches every turn. `text` is compared with the questions.

    `praised` selects turns that were accepted in words or by a reaction, not by a follow-up question.
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
    """A person's turns in a project, from `since` (inclusive) to `until` (exclusive), in microseconds."""

    tenant: str
    project: str
    user_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class PreviousVerdict:
    """Earlier verdict on a message, and the message's last announcement.

    `stamp` is `NO_VERDICT` if the message had no verdict. `emitted_turn_id` and `emitted_agent_id` are the turn and the
    agent of the last announced verdict on the message, which may be another one than the earlier verdict; None if there
    was none.
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
        """Merge facts (at most one per turn), apply the verdicts to their turns, and commit.

        `detector` is the version of the detector that judged. A verdict replaces an earlier one on the same message,
        unless the earlier one has a higher stamp. A verdict that is neutral or has no turn does not change a turn's
        status. Returns the earlier verdicts on the judged messages.
        """
        ...


class TurnSearch(Protocol):
    async def find(self, key: TurnKey) -> Turn | None:
        """Return a turn, or None if nothing is known about it."""
        ...

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """Return up to `limit` answered turns of a thread or channel up to `until` (microseconds), newest first."""
        ...

    async def nearby(self, looked: PersonTurns, text: str) -> Sequence[Answered]:
        """Return about fifty answered turns of a person: those most similar to `text`, and the latest ones."""
        ...

    async def search(self, wanted: StrategyFilter, limit: int) -> Sequence[Turn]:
        """Return at most `limit` turns that have a strategy and are not rejected, ordered by `turns.rules.ranked`.

        If `wanted` has a text, the best turns of each status are searched, and only those with similar questions are
        returned.
        """
        ...


class TurnIndex(TurnIntake, TurnSearch, Protocol):
    async def take_reactions(self, reactions: Collection[UserReaction]) -> set[UUID]:
        """Store people's reactions, at most one per feedback record, and commit.

        Returns the feedback ids that were written.
        """
        ...

    async def forget(self, feedback_ids: Collection[UUID]) -> None:
        """Delete the erased reactions with these ids, and commit."""
        ...
