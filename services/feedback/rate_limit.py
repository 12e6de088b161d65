"""Rate limits for a person's judgements and impressions over HTTP, with token buckets in PostgreSQL."""

from __future__ import annotations

from math import ceil
from typing import Final, Literal, get_args

from contracts.erasure import Person
from feedback.sql import SQL
from servicekit import Database

_MINUTE: Final = 60.0
Buckets = Literal["buckets", "impression_buckets"]
"""Table of a rate limit: `buckets` for judgements, `impression_buckets` for impressions."""
BUCKETS: Final[tuple[Buckets, ...]] = get_args(Buckets)
_LIMITED: Final[dict[Buckets, str]] = {
    "buckets": "judgements",
    "impression_buckets": "requests with impressions",
}


class LimitReached(Exception):
    """Raised if a person's token bucket is empty.

    `seconds` is the time until the next token is available.
    """

    def __init__(self, limited: str, limit: int, seconds: int) -> None:
        super().__init__(f"A person may send {limit} {limited} a minute; try again in {seconds} s.")
        self.seconds = seconds


class PersonLimit:
    """Rate limit per person, with a token bucket that refills within a minute.

    The buckets are rows of a table, so all processes share them, and they survive restarts. The table is unlogged:
    after a crash of PostgreSQL, all buckets are full. Call `purge` regularly to delete full buckets.

    Args:
        limit: Number of tokens per bucket. 0 means no limit.
    """

    def __init__(self, pool: Database, limit: int, buckets: Buckets = "buckets") -> None:
        self._pool = pool
        self._limit = limit
        self._buckets: Buckets = buckets

    async def take(self, person: Person) -> None:
        """Take one token from the person's bucket. Database errors are raised unchanged.

        Raises:
            LimitReached: The bucket is empty.
        """
        if not self._limit:
            return
        token = {**person._asdict(), "token_seconds": _MINUTE / self._limit}
        if await self._pool.fetchval(*SQL.take_token.filled(buckets=self._buckets)(**token)) is None:
            wait = await self._pool.fetchval(*SQL.token_wait.filled(buckets=self._buckets)(**token))
            raise LimitReached(_LIMITED[self._buckets], self._limit, max(1, ceil(wait or 0)))

    async def purge(self) -> None:
        """Delete full buckets."""
        await self._pool.execute(*SQL.delete_full_buckets.filled(buckets=self._buckets)())
