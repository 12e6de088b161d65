"""Rate limit for a person's judgements over HTTP, with token buckets in PostgreSQL."""

from __future__ import annotations

from math import ceil
from typing import Final

from contracts.erasure import Person
from feedback.sql import SQL
from servicekit.db.database import Database

_MINUTE: Final = 60.0


class LimitReached(Exception):
    """Raised if a person's token bucket is empty.

    `seconds` is the time until the next token is available.
    """

    def __init__(self, limit: int, seconds: int) -> None:
        super().__init__(f"A person may send {limit} judgements a minute; try again in {seconds} s.")
        self.seconds = seconds


class PersonLimit:
    """Rate limit per person, with a token bucket that refills within a minute.

    The buckets are rows of a table, so all processes share them, and they survive restarts. The table is unlogged:
    after a crash of PostgreSQL, all buckets are full. Call `purge` regularly to delete full buckets.

    Args:
        limit: Number of tokens per bucket. 0 means no limit.
    """

    def __init__(self, pool: Database, limit: int) -> None:
        self._pool = pool
        self._limit = limit

    async def take(self, person: Person) -> None:
        """Take one token from the person's bucket. Database errors are raised unchanged.

        Raises:
            LimitReached: The bucket is empty.
        """
        if not self._limit:
            return
        token = {**person._asdict(), "token_seconds": _MINUTE / self._limit}
        if await self._pool.fetchval(*SQL.take_token(**token)) is None:
            wait = await self._pool.fetchval(*SQL.token_wait(**token))
            raise LimitReached(self._limit, max(1, ceil(wait or 0)))

    async def purge(self) -> None:
        """Delete full buckets."""
        await self._pool.execute(*SQL.delete_full_buckets())
