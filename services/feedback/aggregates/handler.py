"""Handler that reads verdicts from `feedback.created`, and stores them for aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from contracts.feedback import FeedbackCreated, FeedbackErased
from feedback.aggregates.model import CountedVerdict, newest_verdicts, verdict_of
from servicekit import Handler, Outcome, Received

NO_VERDICT = Outcome.ignored("no_verdict")


class VerdictStore(Protocol):
    async def take(self, verdicts: Sequence[CountedVerdict]) -> set[UUID]: ...


class VerdictHandler(Handler, tombstones=True):
    """Handler of the consumer group `feedback_aggregates`.

    Verdicts may be repeated, and may arrive in any order.
    """

    def __init__(self, store: VerdictStore) -> None:
        self._store = store

    async def handle(self, batch: Sequence[Received[FeedbackCreated | FeedbackErased]]) -> Sequence[Outcome]:
        found = [verdict_of(one.event) for one in batch]
        newest = newest_verdicts(found)
        written = await self._store.take(newest)
        stored = {id(one) for one in newest if one.feedback_id in written}
        return [
            NO_VERDICT if one is None else Outcome.STORED if id(one) in stored else Outcome.UNCHANGED for one in found
        ]
