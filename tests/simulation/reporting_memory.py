"""Reporting's read models as two dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from reporting.projection import FeedbackRow, MessageKey, MessageRow
from reporting.store import Applied


class ReportingMemory:
    """See `reporting.store.Store`."""

    def __init__(self) -> None:
        self.feedbacks: dict[UUID, FeedbackRow] = {}
        self.messages: dict[MessageKey, MessageRow] = {}

    async def apply(self, messages: Sequence[MessageRow], feedbacks: Sequence[FeedbackRow]) -> Applied:
        ids = [row.feedback_id for row in feedbacks]
        before = {id_: self.feedbacks[id_] for id_ in ids if id_ in self.feedbacks}
        for row in feedbacks:
            held = self.feedbacks.get(row.feedback_id)
            if held is None or held.revision < row.revision:
                self.feedbacks[row.feedback_id] = row
        written = set()
        for message in messages:
            known = self.messages.get(message.key)
            if known is None or known.stamp < message.stamp:
                self.messages[message.key] = message
                written.add(message.key)
        return Applied(before, written)

    async def forget(self, feedback_ids: Sequence[UUID]) -> None:
        for feedback_id in feedback_ids:
            self.feedbacks.pop(feedback_id, None)

    async def probe(self) -> None:
        return None
