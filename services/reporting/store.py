"""Port of the read models' storage, as the consumer uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from reporting.projection import FeedbackRow, Forgotten, MessageKey, MessageRow, SessionRow


@dataclass(frozen=True, slots=True)
class Applied:
    """State that a batch found: the feedbacks before it, and the messages that it added or changed."""

    before: Mapping[UUID, FeedbackRow]
    written: set[MessageKey]


class Store(Protocol):
    async def apply(self, messages: Sequence[MessageRow], feedbacks: Sequence[FeedbackRow]) -> Applied:
        """Write a batch in one transaction: at most one row per key, sorted.

        A feedback yields to a higher revision that is there already. Of a message's versions the greatest holds, at the
        place of the earliest.
        """
        ...

    async def forget(self, forgotten: Sequence[Forgotten]) -> None:
        """Remove feedbacks up to the revision that erased them, and keep what is not newer from coming back."""
        ...

    async def rate(self, sessions: Sequence[SessionRow]) -> set[UUID]:
        """Keep session ratings, each once. Returns the ids of those that were not kept already."""
        ...
