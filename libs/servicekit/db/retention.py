"""Delete rows past their table's retention period, in batches of limited size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from servicekit import metrics
from servicekit.clock import Clock
from servicekit.logging import logger

BATCH: Final = 5_000
"""Maximum number of rows that one statement deletes."""
SWEEP_SECONDS: Final = 3_600.0
"""Seconds between two sweeps, and before the first sweep."""
_BATCHES_LIMIT: Final = 200
"""Maximum number of batches per table and sweep, so that a sweep after a long pause does not load the database for
hours."""
_DAY: Final = 86_400_000_000

log = logger("retention")


@dataclass(frozen=True, slots=True)
class Expiry:
    """Expiry rule of a table. If `days` is 0, rows never expire.

    `condition` is an SQL condition on the row `r`, in which `$1` is the oldest kept time in microseconds.
    """

    table: str
    days: float
    condition: str

    @property
    def delete(self) -> str:
        expired = f"select ctid from {self.table} r where {self.condition} limit {BATCH}"
        return f"delete from {self.table} where ctid = any(array({expired}))"

    @property
    def count(self) -> str:
        return f"select count(*) from {self.table} r where {self.condition}"

    def oldest_kept(self, now: int) -> int:
        """Return the time before which rows expire; `now` and the result are in microseconds."""
        return now - int(self.days * _DAY)


class Retention:
    """A service's expiry rules, applied through a pool or a connection on the service's schema."""

    def __init__(
        self, service: str, pool: asyncpg.Pool | asyncpg.Connection, clock: Clock, expiries: Sequence[Expiry]
    ) -> None:
        self._service = service
        self._pool = pool
        self._clock = clock
        self._expiries = [expiry for expiry in expiries if expiry.days > 0]

    async def sweep(self) -> dict[str, int]:
        """Delete expired rows, and return the number of deleted rows by table, if any.

        The first error is raised after the last table, so that a locked or slow table does not affect the others.
        """
        deleted: dict[str, int] = {}
        failures: list[Exception] = []
        for expiry in self._expiries:
            try:
                rows = await self._delete(expiry)
            except Exception as error:
                failures.append(error)
                continue
            if rows:
                deleted[expiry.table] = deleted.get(expiry.table, 0) + rows
                metrics.PURGED.labels(self._service, expiry.table).inc(rows)
        if deleted:
            log.info("purged", service=self._service, **deleted)
        if failures:
            raise failures[0]
        return deleted

    async def due(self) -> dict[str, int]:
        """Return the number of rows that a sweep would delete, by table, without deleting them."""
        now = self._clock.now()
        counts: dict[str, int] = {}
        for expiry in self._expiries:
            rows = int(await self._pool.fetchval(expiry.count, expiry.oldest_kept(now)))
            counts[expiry.table] = counts.get(expiry.table, 0) + rows
        return counts

    async def _delete(self, expiry: Expiry) -> int:
        oldest, deleted = expiry.oldest_kept(self._clock.now()), 0
        for _ in range(_BATCHES_LIMIT):
            rows = int((await self._pool.execute(expiry.delete, oldest)).rpartition(" ")[2])
            deleted += rows
            if rows < BATCH:
                break
        return deleted
