"""Rate limit for a person's judgements over HTTP, with token buckets in PostgreSQL."""

from __future__ import annotations

from math import ceil

from contracts.erasure import Person
from feedback.sql import SQL
from servicekit.db.database import Database
from servicekit.errors import RequestRefused


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
        """Take one token from the person's bucket. Errors of the database are raised.

        Raises:
            RequestRefused: 429 if the bucket is empty, with the seconds until the next token is available.
        """
        if not self._limit:
            return
        token = {**person._asdict(), "token_seconds": 60 / self._limit}
        if await self._pool.fetchval(*SQL.take_token(**token)) is None:
            seconds = max(1, ceil(await self._pool.fetchval(*SQL.token_wait(**token)) or 0))
            sentence = f"A person may send {self._limit} judgements a minute; try again in {seconds} s."
            raise RequestRefused(429, sentence, seconds)

    async def purge(self) -> None:
        """Delete full buckets."""
        await self._pool.execute(*SQL.delete_full_buckets())
