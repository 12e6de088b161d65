"""Publisher of aggregated verdicts on the topic `feedback.aggregated`."""

from __future__ import annotations

from typing import Final

from feedback.aggregates.model import announcement
from feedback.aggregates.store_postgres import PostgresAggregates
from servicekit import Producer

_AT_ONCE: Final = 500


class AggregateAnnouncer:
    """Publisher of aggregated verdicts on turns.

    Each aggregate is published at least once, always as the same event.

    Args:
        after: Number of changes to a turn's verdicts after which the turn is aggregated.
        quiet: Number of seconds without a change after which a changed turn is aggregated.
    """

    def __init__(self, aggregates: PostgresAggregates, producer: Producer, *, after: int, quiet: float) -> None:
        self._aggregates = aggregates
        self._producer = producer
        self._after = after
        self._quiet = quiet

    async def sweep(self) -> None:
        """Aggregate the turns that are due, and publish the changed aggregates.

        Database errors and log errors are raised unchanged.
        """
        while await self._aggregates.recount(self._after, self._quiet):
            pass
        while waiting := await self._aggregates.unannounced(_AT_ONCE):
            await self._producer.send([announcement(one) for one in waiting])
            await self._aggregates.mark(waiting)
