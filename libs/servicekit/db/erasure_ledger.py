"""Erasure ledger: the table `erasures` in the PostgreSQL schema of a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person
from servicekit.db.sql import SQL
from servicekit.erasure_guard import PersonErased, guarded

Erase = Callable[[ErasedAt], Awaitable[int]]
"""Function that deletes everything that the given people said before their erasure, commits, and returns the number of
changed rows."""


class ErasureLedger:
    """Table of erased people with the time of each person's latest erasure."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures to the ledger, and return the people whose entries changed.

        An entry that already has a later erasure stays unchanged.

        Args:
            erasures: The erasures, at most one per person.
        """
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(*SQL.note_erasures.bulk(rows))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure time of each person in microseconds, omitting people who are not in the ledger."""
        if not people:
            return {}
        rows = await self._pool.fetch(*SQL.erased_at.bulk([*people]))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in rows}

    @contextmanager
    def guard(self, people: Collection[Person]) -> Iterator[None]:
        """Make writes in this block fail if one of `people` is in the ledger.

        A failed write ends the block without an exception.
        """
        with suppress(PersonErased), guarded(people):
            yield


class LedgeredErasures(ErasureLedger):
    """Erasure ledger of a service, with the function that deletes a person's rows."""

    def __init__(self, pool: asyncpg.Pool, erase: Erase) -> None:
        super().__init__(pool)
        self._erase = erase

    async def erase(self, erased: ErasedAt) -> int:
        return await self._erase(erased)
