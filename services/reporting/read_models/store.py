"""Interface for writing the read models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from contracts.feedback import FeedbackErased
from reporting.model.projection import FeedbackRow, MessageKey, MessageRow, SessionRow


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of writing a batch.

    Attributes:
        before: Feedback rows that were stored before the batch, by id.
        written: Keys of the messages that the batch added or changed.
        rated: Ids of the session ratings that the batch added.
    """

    before: Mapping[UUID, FeedbackRow]
    written: set[MessageKey]
    rated: set[UUID]


class ReadModelStore(Protocol):
    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        """Write a batch: its messages in one transaction, then all other rows in another one.

        Messages and feedback must be sorted, with at most one row per key.

        Args:
            messages: A stored message gets the content of its highest version and the position of its earliest version.
            feedbacks: A stored feedback record is replaced only by a higher revision.
            forgotten: Records to delete up to the erased revision. Later writes of those revisions are rejected.
            sessions: Session ratings to add.
        """
        ...
