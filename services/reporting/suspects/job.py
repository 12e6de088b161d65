"""Periodic job that marks suspect verdicts in the read models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final, NamedTuple

import asyncpg

from reporting.sql import SQL
from reporting.suspects.rules import AROUND, MinuteSpan, VerdictWindow, bursts, spans

_AT_ONCE: Final = 2_000
"""Maximum number of changes per batch. A change is a person and a minute in which the person's verdicts changed."""


class Giver(NamedTuple):
    """Person who gave verdicts in a project."""

    tenant: str
    project: str
    user_id: str


class SuspectJob:
    """Job that marks suspect verdicts. Call `catch_up` repeatedly.

    Args:
        limit: Maximum number of emoji reactions per person and minute that count, or 0 for no limit.
        burst: Minimum number of turns in a burst, or 0 to disable the burst rule.
        shared: Ids of shared users, whose verdicts are never marked.
    """

    def __init__(self, pool: asyncpg.Pool, *, limit: int, burst: int, shared: Collection[str] = ()) -> None:
        self._pool = pool
        self._limit = limit
        self._burst = burst
        self._shared = sorted(set(shared))
        self._began = False

    async def catch_up(self) -> int:
        """Apply the rules to changed verdicts and to verdicts close to them in time.

        The first call also rechecks all marked verdicts, because the settings may have changed.

        Returns:
            The number of changed marks, or 0 if another process holds the lock.
        """
        async with self._pool.acquire() as connection:
            if not await connection.fetchval(*SQL.lock_suspects()):
                return 0
            try:
                return await self._work()
            finally:
                await connection.execute(*SQL.unlock_suspects())

    async def _work(self) -> int:
        if not self._began:
            await self._pool.execute(*SQL.look_at_suspects_again())
            self._began = True
        marked = 0
        least = min((one for one in (self._limit, self._burst) if one), default=0)
        while rows := await self._pool.fetch(*SQL.changed_givers(limit=_AT_ONCE)):
            changed = sorted({(row["tenant"], row["project"], row["user_id"], row["minute"]) for row in rows})
            worth = await self._pool.fetch(*SQL.minutes_worth_a_look.bulk(changed, least=least, around=AROUND))
            minutes: defaultdict[Giver, list[int]] = defaultdict(list)
            for row in worth:
                minutes[Giver(row["tenant"], row["project"], row["user_id"])].append(row["minute"])
            for giver, of_giver in minutes.items():
                for span in spans(of_giver):
                    marked += await self._mark(giver, span)
            await self._pool.execute(*SQL.delete_changed_givers(ids=[row["id"] for row in rows]))
        return marked

    async def _mark(self, giver: Giver, span: MinuteSpan) -> int:
        """Apply the rules to a person's verdicts in a span of minutes, and return the number of changed marks."""
        is_shared = giver.user_id in self._shared
        of = {**giver._asdict(), "start_minute": span.start, "end_minute": span.end, "around": AROUND}
        windows = await self._pool.fetch(*SQL.verdict_windows(**of))
        suspect = bursts((VerdictWindow(*row) for row in windows), 0 if is_shared else self._burst)
        limit = self._limit if self._limit and not is_shared else None
        done = await self._pool.execute(*SQL.mark_suspects(**of, windows=suspect, limit=limit))
        return int(done.rpartition(" ")[2])
