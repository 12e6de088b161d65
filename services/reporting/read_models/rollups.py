"""Roll-ups: counts of effective reactions per hour and day.

When feedback changes, its hour is marked as stale and later recounted. An hour is counted and its stale marks are
deleted in the same snapshot, so marks of later changes remain.

Two concurrent transactions that change the same turn cannot see each other's changes. Each of them may therefore fail
to mark an hour that is affected by the other. For this reason, an hour is counted only after all transactions that were
running when its mark was first seen have ended.

`figures/rollup_counts.py` reads the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.db.database import Database

QUIET_SECONDS: Final = 10.0
"""Time without changes after which a stale hour is counted, in seconds."""
LONGEST_SECONDS: Final = 300.0
"""Maximum time that an hour stays stale if it keeps changing, in seconds."""
WARNING_MINUTES: Final = 15
"""Age at which an open transaction causes a warning because it delays counting, in minutes."""
_AT_ONCE: Final = 48
"""Maximum number of hours counted per transaction, to stay within the statement timeout."""


class _SnapshotMark(NamedTuple):
    """Database snapshot, and the next transaction id at that time.

    The next id is greater than the ids of all transactions that were running.
    """

    seen: str
    next: int


class Rollups:
    """Updater of the roll-ups. The pool needs the rights of the tables' owner."""

    def __init__(self, pool: Database, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._looked: _SnapshotMark | None = None
        self._looked_at = self._clock.monotonic()
        self._settled: str | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """A warning if a long transaction delays the counting of hours."""
        minutes = int(self._clock.monotonic() - self._looked_at) // 60
        if self._looked is None or minutes < WARNING_MINUTES:
            return ()
        return (
            f"reporting: a PostgreSQL transaction has been open for over {minutes} minutes and delays the roll-ups: "
            "figures stay exact but get slower (see pg_stat_activity)",
        )

    async def catch_up(self, quiet: float = QUIET_SECONDS, longest: float = LONGEST_SECONDS) -> int:
        """Count all due hours, and return their number.

        An hour is due after `quiet` seconds without changes, or after it has been stale for `longest` seconds. In both
        cases, all transactions that were running when its stale marks were first seen must have ended.
        """
        counted = 0
        while done := await self._some(quiet, longest):
            counted += done
        return counted

    async def _some(self, quiet: float, longest: float) -> int:
        """Count some of the due hours, and return their number.

        The stale marks remain until the hours are counted, so an interruption between the transactions loses nothing.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            if not await connection.fetchval(*SQL.try_count()):
                return 0
            look = await connection.fetchrow(*SQL.writers_of_stale_hours())
            due: Sequence[Any] = ()
            if look is None:
                self._looked = None
            else:
                self._settle(_SnapshotMark(look["seen"], look["next"]))
                due = await connection.fetch(
                    *SQL.due_hours(quiet=quiet, longest=longest, settled=self._settled, limit=_AT_ONCE)
                )
            if not due:
                return 0
            hours = [tuple(row) for row in due]
        async with self._pool.acquire() as connection, connection.transaction(isolation="repeatable_read"):
            if not await connection.fetchval(*SQL.try_count()):
                return 0
            await connection.execute(*SQL.delete_stale_marks.bulk(hours, settled=self._settled))
            await connection.execute(*SQL.analyze_unless_analyzed())
            for statement in (SQL.delete_hours, SQL.count_hours, SQL.delete_days, SQL.count_days):
                await connection.execute(*statement.bulk(hours))
            return len(hours)

    def _settle(self, now: _SnapshotMark) -> None:
        """Remember the newest snapshot for which all transactions that were running at that time have ended.

        Args:
            now: The current snapshot.
        """
        oldest_running = int(now.seen.split(":")[0])
        if self._looked is not None and now.next < self._looked.next:
            self._looked = self._settled = None  # another or a restored server has lower transaction ids
        for look in (now, self._looked):
            if look is not None and look.next <= oldest_running:
                self._settled = look.seen
                self._looked = None
                break
        if self._looked is None:
            self._looked, self._looked_at = now, self._clock.monotonic()
