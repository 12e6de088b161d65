"""Erasure of people from the message registry, session ratings and rate limits.

Roles are deleted, and ratings become anonymous. If pseudonyms are enabled, a person's id in the registry is replaced by
a pseudonym.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Person
from feedback.sql import SQL
from servicekit.db.database import Database

_AT_ONCE: Final = 2_000
"""Maximum number of rows per statement, to stay below the statement timeout."""


class TurnErasures:
    """Erasure of people from the message registry's database.

    Call `erase` after each new entry in the erasure ledger, and again after any write that was in progress when the
    entry was made.
    """

    def __init__(self, pool: Database, pseudonym_of: Callable[[Person], str]) -> None:
        self._pool = pool
        self.ledger = pool.ledger
        self.pseudonym_of = pseudonym_of

    async def erase(self, erased: ErasedAt) -> None:
        """Delete these people's roles and rate limits, and make their ratings anonymous.

        If pseudonyms are enabled for the tenant, the people's ids in the registry are replaced, too. Each person must
        already have an entry in the erasure ledger. Ratings that were stored before that entry are covered.
        """
        for person, erased_at in sorted(erased.items()):
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(*SQL.await_ratings(**person._asdict()))
                await connection.execute(*SQL.anonymise_ratings(**person._asdict()))
            await self._pool.execute(*SQL.delete_bucket(**person._asdict()))
            name, until = self.pseudonym_of(person), erased_at + ERASURE_MARGIN
            rename = SQL.pseudonymise_messages(**person._asdict(), until=until, pseudonym=name, limit=_AT_ONCE)
            while await self._pool.execute(*rename) != "UPDATE 0":
                pass

    async def erase_since(self, people: Collection[Person], before: ErasedAt) -> None:
        """Erase those of `people` whose ledger entry was added or changed after `before` was read."""
        after = await self.ledger.erased_at(people)
        await self.erase({person: erased_at for person, erased_at in after.items() if before.get(person) != erased_at})
