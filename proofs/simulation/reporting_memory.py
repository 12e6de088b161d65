"""Reporting's read models in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.feedback import FeedbackErased
from reporting.model.projection import (
    FeedbackRow,
    MessageKey,
    MessageRow,
    SessionRow,
)
from reporting.read_models.store import Applied


class ReportingMemory:
    """See `reporting.read_models.store.ReadModelStore`."""

    def __init__(self) -> None:
        self.feedbacks: dict[UUID, FeedbackRow] = {}
        self.forgotten: dict[UUID, int] = {}
        self.messages: dict[MessageKey, MessageRow] = {}

    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        ids = [row.feedback_id for row in feedbacks]
        before = {id_: self.feedbacks[id_] for id_ in ids if id_ in self.feedbacks}
        for row in feedbacks:
            held = self.feedbacks.get(row.feedback_id)
            least = held.revision if held else self.forgotten.get(row.feedback_id, 0)
            if least < row.revision:
                self.feedbacks[row.feedback_id] = row
        written = set()
        for message in messages:
            known = self.messages.get(message.key)
            merged = message if known is None else known.merged(message)
            if merged != known:
                self.messages[message.key] = merged
                written.add(message.key)
        self._forget(forgotten)
        return Applied(before, written, {row.id for row in sessions})

    def _forget(self, forgotten: Sequence[FeedbackErased]) -> None:
        for feedback_id, revision in forgotten:
            self.forgotten[feedback_id] = max(revision, self.forgotten.get(feedback_id, 0))
            held = self.feedbacks.get(feedback_id)
            if held is not None and held.revision <= self.forgotten[feedback_id]:
                del self.feedbacks[feedback_id]
