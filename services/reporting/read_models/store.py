"""Port (interface) for writing the read models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from reporting.read_models.projection import FeedbackRow, Forgotten, ImpressionRow, MessageKey, MessageRow, SessionRow


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of writing a batch.

    The fields are the feedback rows stored before the batch, the keys of messages that the batch added or changed, the
    ids of session ratings that it added, and the slots of impressions that it added or changed.
    """

    before: Mapping[UUID, FeedbackRow]
    written: set[MessageKey]
    rated: set[UUID]
    shown: set[UUID]


class ReadModelStore(Protocol):
    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[Forgotten] = (),
        sessions: Sequence[SessionRow] = (),
        impressions: Sequence[ImpressionRow] = (),
    ) -> Applied:
        """Write a batch in one transaction.

        Messages, feedback and impressions must be sorted, with at most one row per key.

        A stored feedback record is replaced only by a higher revision. A message keeps the content of its highest
        version and the position of its earliest version. Forgotten records are deleted up to the erased revision, and
        later writes of those revisions are rejected. Each slot keeps its first impression.
        """
        ...
