"""What inference needs of its index of turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from inference.model import Feedback, Verdict
from inference.store import ConversationKey, MessageKey, Placed
from inference.turn_facts import Facts
from inference.turns import Turn, TurnKey

WINDOW = 20_000
"""A search without a person in it looks at so many of the newest turns that fit."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's explicit feedback as it is now. `status` None: taken back. The highest revision holds."""

    feedback_id: UUID
    turn: TurnKey
    user_id: str
    status: Feedback | None
    said: str | None
    tags: tuple[str, ...]
    correction: str | None
    at: int
    revision: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which turns are searched: all of a project's, or those of one intent, or one person, or both."""

    tenant: str
    project: str
    intent: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """A turn like a text. `similarity` in [0, 1]; `turns_back` counts answered turns of that person, 1 is the latest."""

    turn: Turn
    similarity: float
    turns_back: int


class TurnIndex(Protocol):
    async def take(self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]]) -> None:
        """Join facts, at most one per turn, with what is known, and let the verdicts stand for the turns they are about.

        A verdict replaces an earlier one on the same message of no higher evaluation; one that says nothing, or names
        no turn, leaves the turn to whatever else was said of it. Committed on return.
        """
        ...

    async def judge(self, judgements: Collection[Judgement]) -> set[UUID]:
        """Take in what people said, at most one per feedback; gives those that were news. Committed on return."""
        ...

    async def forget(self, feedback_ids: Collection[UUID]) -> None:
        """Drop judgements whose person was forgotten. Committed on return."""
        ...

    async def find(self, key: TurnKey) -> Turn | None:
        """What is known of a turn."""
        ...

    async def last_activity(self, where: ConversationKey) -> int | None:
        """The time of the conversation's latest turn."""
        ...

    async def latest(self, where: ConversationKey, until: int, limit: int) -> Sequence[Turn]:
        """The answered turns of a conversation from at most `until` (microseconds), newest first."""
        ...

    async def nearest(
        self, tenant: str, project: str, user_id: str, text: str, since: int, until: int, limit: int
    ) -> Sequence[Near]:
        """Of all that a person was answered in a span of time, the latest few turns and the `limit` most alike."""
        ...

    async def search(self, wanted: Wanted, text: str | None, limit: int) -> Sequence[tuple[Turn, float]]:
        """Turns with a strategy that nobody rejected, each with its similarity to `text` (0 where there is none)."""
        ...

    async def place_of(self, key: MessageKey) -> tuple[int, str] | None:
        """Where a message stands in its conversation, as (at, message_id)."""
        ...

    async def ping(self) -> None:
        """Raise if the database does not answer."""
        ...
