"""Publisher of aggregated verdicts on `feedback.aggregated`."""

from __future__ import annotations

from typing import Final

from feedback.aggregates.model import announcement
from feedback.aggregates.store_postgres import PostgresAggregates
from servicekit import Producer

_AT_ONCE: Final = 500


class AggregateAnnouncer:
    """Publisher of the aggregates of due turns. Each aggregate is published at least once, always as the same event.

    A turn is due when `after` of its verdicts have changed, or when none has changed for `quiet` seconds.
    """

    def __init__(self, aggregates: PostgresAggregates, producer: Producer, *, after: int, quiet: float) -> None:
        self._aggregates = aggregates
        self._producer = producer
        self._after = after
        self._quiet = quiet

    async def sweep(self) -> None:
        """Publish every aggregate that has changed. Raises errors of the database and the log."""
        while await self._aggregates.recount(self._after, self._quiet):
            pass
        while waiting := await self._aggregates.unannounced(_AT_ONCE):
            await self._producer.send([announcement(one) for one in waiting])
            await self._aggregates.mark(waiting)
