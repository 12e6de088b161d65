"""The ledger of erasures in a service's own PostgreSQL schema: the table `erasures`."""

from __future__ import annotations

from collections.abc import Collection

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person
from servicekit.db.sql import SQL


class ErasureLedger:
    """Remembers who was erased, and when. A service's `Erasures` adds how it removes what they said."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Enter erasures, at most one per person; the latest of each person stays. Returns whose entry was written."""
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(*SQL.note_erasures.bulk(rows))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return when those of `people` in the ledger were last erased, in microseconds."""
        if not people:
            return {}
        found = await self._pool.fetch(*SQL.erased_at.bulk([*people]))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in found}
