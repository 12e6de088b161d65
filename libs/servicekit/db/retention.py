"""Deletion of rows that are older than their table's retention period, in small batches."""

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
    """Expiry rule of a table: its rows expire after `days` days, or never if `days` is 0.

    `condition` is an SQL condition on a row `r` that is true if the row has expired. Its parameter `$1` is the oldest
    time to keep, in microseconds.
    """

    table: str
    days: float
    condition: str

    @property
    def delete(self) -> str:
        expired = f"select ctid from {self.table} r where {self.condition} limit {BATCH}"
        return f"delete from {self.table} where ctid = any(array({expired}))"

    def oldest_kept(self, now: int) -> int:
        """Return the time before which rows expire. `now` and the result are in microseconds."""
        return now - int(self.days * _DAY)


class Retention:
    """Retention job that deletes the expired rows of a service's tables."""

    def __init__(self, service: str, pool: asyncpg.Pool, clock: Clock, expiries: Sequence[Expiry]) -> None:
        self._service = service
        self._pool = pool
        self._clock = clock
        self._expiries = [expiry for expiry in expiries if expiry.days > 0]

    async def sweep(self) -> dict[str, int]:
        """Delete expired rows, and return the number of deleted rows by table, omitting tables without deletions.

        If a table fails, for example because it is locked, the remaining tables are still swept. The first error is
        raised at the end.
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

    async def _delete(self, expiry: Expiry) -> int:
        oldest, deleted = expiry.oldest_kept(self._clock.now()), 0
        for _ in range(_BATCHES_LIMIT):
            rows = int((await self._pool.execute(expiry.delete, oldest)).rpartition(" ")[2])
            deleted += rows
            if rows < BATCH:
                break
        return deleted
