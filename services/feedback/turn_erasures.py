"""Removes an erased person from the turn registry and from session ratings.

Their role is deleted, their ratings become anonymous, and pseudonyms, if enabled, replace their id in turns.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Person
from servicekit.db.erasure_ledger import ErasureLedger
from servicekit.pseudonyms import Pseudonyms

_AT_ONCE: Final = 2_000
"""Turns changed by one statement, so that none runs into the statement limit."""
# An asker stays: a visitor may not rate a thread in which only others asked.
_RENAME_ASKER: Final = """
update turns set user_id = $4 where (tenant, project, conversation_id, turn_id) in (
    select tenant, project, conversation_id, turn_id from turns
    where user_id = $2 and tenant = $1 and user_at <= $3 limit $5)
"""
# A version's second to ninth byte are the time it was said (contracts/versions.py).
_DROP_ROLES: Final = """
delete from people
where user_id = $2 and tenant = $1 and substring(version from 2 for 8) <= int8send($3::bigint)
"""
# Inserts of ratings hold this lock shared (migration 0007), so all up to the ledger's entry are committed afterwards.
_AWAIT_RATINGS: Final = "select pg_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 0))"
# The rating itself stays: it counts a session and contains no text. Its key is derived from the person's id.
_UNNAME_RATINGS: Final = """
update session_feedback s set user_id_or_null = null, idempotency_key = null from erasures e
where e.tenant = $1 and e.user_id = $2
  and s.tenant = e.tenant and s.user_id_or_null = e.user_id and s.stored_at <= e.noted_at
"""


class TurnErasures(ErasureLedger):
    """The ledger of the turn registry's database. `erase` runs after an entry, and again after each racing write."""

    def __init__(self, pool: asyncpg.Pool, pseudonyms: Pseudonyms) -> None:
        super().__init__(pool)
        self._pseudonyms = pseudonyms

    async def erase(self, erased: ErasedAt) -> None:
        """Drop these people's roles and their names from ratings; rename their turns if the tenant has pseudonyms on.

        All of them have an entry in the ledger. It covers the ratings that the database stored before the entry.
        """
        for person, at in sorted(erased.items()):
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(_AWAIT_RATINGS, *person)
                await connection.execute(_UNNAME_RATINGS, *person)
            covered = *person, at + ERASURE_MARGIN
            await self._pool.execute(_DROP_ROLES, *covered)
            name = self._pseudonyms.name_of(person)
            while name != person.user_id:
                if await self._pool.execute(_RENAME_ASKER, *covered, name, _AT_ONCE) == "UPDATE 0":
                    break

    async def erase_since(self, people: Collection[Person], before: ErasedAt) -> None:
        """Erase those of `people` who were erased after the ledger was read as `before`."""
        after = await self.erased_at(people)
        await self.erase({person: at for person, at in after.items() if before.get(person) != at})

    def name_of(self, person: Person) -> str:
        """Return the name under which an erased person's turns stay."""
        return self._pseudonyms.name_of(person)
