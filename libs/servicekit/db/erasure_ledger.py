"""The ledger of erasures in a service's own PostgreSQL schema: the table `erasures`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person

_NOTE: Final = """
insert into erasures as e (tenant, user_id, request_id, erased_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
on conflict (tenant, user_id) do update set request_id = excluded.request_id, erased_at = excluded.erased_at
where (e.erased_at, e.request_id) < (excluded.erased_at, excluded.request_id)
returning tenant, user_id
"""
_ERASED_AT: Final = """
select tenant, user_id, erased_at from erasures
join unnest($1::text[], $2::text[]) as wanted (tenant, user_id) using (tenant, user_id)
"""


class ErasureLedger:
    """Remembers who was erased, and when. A service's `Erasures` adds how it removes what they said."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Enter erasures, at most one per person; the latest of each person stays. Returns whose entry was written."""
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(_NOTE, *(list(column) for column in zip(*rows, strict=True)))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return when those of `people` in the ledger were last erased, in microseconds."""
        if not people:
            return {}
        tenants, users = zip(*people, strict=True)
        found = await self._pool.fetch(_ERASED_AT, list(tenants), list(users))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in found}
