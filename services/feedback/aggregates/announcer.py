"""Publisher of aggregated verdicts as `feedback.aggregated`."""

from __future__ import annotations

from typing import Final

from feedback.aggregates.model import announcement
from feedback.aggregates.store_postgres import PostgresAggregates
from servicekit import Producer

_AT_ONCE: Final = 500


class AggregateAnnouncer:
    """Publisher of the aggregates of due turns. It publishes each aggregate at least once, always as the same event.

    A turn is due after `after` of its verdicts have changed, or once none has changed for `quiet` seconds.
    """

    def __init__(self, aggregates: PostgresAggregates, producer: Producer, *, after: int, quiet: float) -> None:
        self._aggregates = aggregates
        self._producer = producer
        self._after = after
        self._quiet = quiet

    async def sweep(self) -> None:
        """Announce every aggregate that has changed. Raises errors of the database and the log."""
        while await self._aggregates.recount(self._after, self._quiet):
            pass
        while waiting := await self._aggregates.unannounced(_AT_ONCE):
            await self._producer.send([announcement(one) for one in waiting])
            await self._aggregates.mark(waiting)
