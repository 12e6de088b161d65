"""Port of the read models' storage for the consumer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from reporting.projection import FeedbackRow, Forgotten, MessageKey, MessageRow, SessionRow


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of a batch: the feedback rows stored before it, and the keys of messages that it added or changed."""

    before: Mapping[UUID, FeedbackRow]
    written: set[MessageKey]


class ReadModelStore(Protocol):
    async def apply(self, messages: Sequence[MessageRow], feedbacks: Sequence[FeedbackRow]) -> Applied:
        """Write a batch in one transaction. The rows must be sorted, with at most one row per key.

        A stored feedback record is replaced only by a higher revision. A message keeps the content of its greatest
        version and the position of its earliest one.
        """
        ...

    async def forget(self, forgotten: Sequence[Forgotten]) -> None:
        """Delete feedback records up to the revision that erased them, and reject later writes of those revisions."""
        ...

    async def rate(self, sessions: Sequence[SessionRow]) -> set[UUID]:
        """Insert session ratings. Return the ids of those that were not stored before."""
        ...
