"""The ledger of erasures in a service's own PostgreSQL schema: the table `erasures`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person
from servicekit.db.sql import SQL
from servicekit.erasure_guard import PersonErased, guarded

Erase = Callable[[ErasedAt], Awaitable[int]]
"""Removes everything that people said up to their erasure. Returns the rows changed. Committed on return."""


class ErasureLedger:
    """Ledger of erased people and the times of their erasures."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures, at most one per person; the latest of each person counts.

        Return the people whose entry changed.
        """
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(*SQL.note_erasures.bulk(rows))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the times of erasure, in microseconds, of the `people` in the ledger."""
        if not people:
            return {}
        found = await self._pool.fetch(*SQL.erased_at.bulk([*people]))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in found}

    @contextmanager
    def guard(self, people: Collection[Person]) -> Iterator[None]:
        """Leave the block, without an exception, if a guarded write in it finds one of `people` in the ledger."""
        with suppress(PersonErased), guarded(people):
            yield


class LedgeredErasures(ErasureLedger):
    """Erasures of a service: the ledger in its schema, and `erase`, the deletion of its rows (see `log.erasing`)."""

    def __init__(self, pool: asyncpg.Pool, erase: Erase) -> None:
        super().__init__(pool)
        self._erase = erase

    async def erase(self, erased: ErasedAt) -> int:
        return await self._erase(erased)
