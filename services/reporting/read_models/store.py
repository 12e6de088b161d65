"""Port (interface) through which the consumer stores the read models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from reporting.read_models.projection import FeedbackRow, Forgotten, MessageKey, MessageRow, SessionRow


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of writing a batch.

    It has the feedback rows stored before the batch, the keys of messages that the batch added or changed, and the ids
    of session ratings that it added.
    """

    before: Mapping[UUID, FeedbackRow]
    written: set[MessageKey]
    rated: set[UUID]


class ReadModelStore(Protocol):
    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[Forgotten] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        """Write a batch in one transaction. Messages and feedback must be sorted, with at most one row per key.

        A stored feedback record is replaced only by a higher revision. A message keeps the content of its greatest
        version and the position of its earliest one. Forgotten records are deleted up to the revision that erased
        them, and later writes of those revisions are rejected.
        """
        ...
