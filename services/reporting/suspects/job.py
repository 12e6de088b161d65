"""Periodic task that marks suspect verdicts in the read models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final, NamedTuple

import asyncpg

from reporting.sql import SQL
from reporting.suspects.rules import AROUND, MinuteSpan, VerdictWindow, bursts, spans

_AT_ONCE: Final = 2_000
"""Maximum number of changes processed in one batch. A change is a person and a minute with changed verdicts."""


class Giver(NamedTuple):
    """Person in a project who gave verdicts."""

    tenant: str
    project: str
    user_id: str


class SuspectJob:
    """Task that marks suspect verdicts of people with changed verdicts: call `catch_up` repeatedly.

    `limit` is the maximum number of emoji reactions of a person that count per minute, and `burst` is the minimum
    number of turns of a burst; 0 disables a rule. Rules never mark verdicts of `shared` users.
    """

    def __init__(self, pool: asyncpg.Pool, *, limit: int, burst: int, shared: Collection[str] = ()) -> None:
        self._pool = pool
        self._limit = limit
        self._burst = burst
        self._shared = sorted(set(shared))
        self._began = False

    async def catch_up(self) -> int:
        """Apply the rules to the verdicts near all changes. Return the number of changed marks.

        Return 0 if another process holds the lock. The first call also checks all marked verdicts, because the settings
        may have changed.
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
        """Apply the rules to a person's verdicts in a span of minutes. Return the number of changed marks."""
        is_shared = giver.user_id in self._shared
        of = {**giver._asdict(), "start_minute": span.start, "end_minute": span.end, "around": AROUND}
        windows = await self._pool.fetch(*SQL.verdict_windows(**of))
        suspect = bursts((VerdictWindow(*row) for row in windows), 0 if is_shared else self._burst)
        limit = self._limit if self._limit and not is_shared else None
        done = await self._pool.execute(*SQL.mark_suspects(**of, windows=suspect, limit=limit))
        return int(done.rpartition(" ")[2])
