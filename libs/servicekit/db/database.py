"""Connection pool for the schema of one service, with batched look-ups and a choice of query plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import asyncpg

from servicekit.db.erasure_ledger import ErasureLedger
from servicekit.db.functions import create_function
from servicekit.db.inline_release_pool import InlineReleasePool, connection_usage
from servicekit.db.row_security import tenant_in_sight
from servicekit.db.statements import Statement
from servicekit.erasure_guard import SQLSTATE, PersonErased, guard_values
from servicekit.error_kinds import unavailable_as
from servicekit.request_batcher import RequestBatcher

Question = TypeVar("Question")
Reply = TypeVar("Reply")
INDEXED: Final = {
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""PostgreSQL settings of a pool with statements that find rows by arrays of keys: index scans, planned once."""
_FREELY: Final = "; ".join(
    f"set local {name} = {'force_custom_plan' if name == 'plan_cache_mode' else 'on'}" for name in INDEXED
)


class Database(InlineReleasePool):
    """Connection pool for the schema of one service."""

    __slots__ = ()

    @property
    def ledger(self) -> ErasureLedger:
        """The schema's ledger of erased people."""
        return ErasureLedger(self)

    async def plan_freely(self, connection: Any) -> None:
        """Allow all kinds of plans until the transaction ends, for statements that read many rows.

        This overrides the settings INDEXED of the pool.
        """
        await connection.execute(_FREELY)

    @staticmethod
    async def call(
        pool: asyncpg.Pool, function: Statement, rows: Sequence[Sequence[Any]], **values: Any
    ) -> list[asyncpg.Record]:
        """Call `function` in its own transaction, and return its result for `rows` and `values` (see `Statement.bulk`).

        Creates the function if the schema does not have it. Raises PersonErased if the function is guarded and a
        guarded person is in the erasure ledger (`erasure_guard.py`).
        """
        guard = guard_values() if "guarded_user" in function.values else {}
        prepared = function.bulk(rows, **values, **guard)
        try:
            return await pool.fetch(*prepared)
        except asyncpg.UndefinedFunctionError:
            async with pool.acquire() as connection:
                await create_function(connection, function)
        except asyncpg.PostgresError as error:
            if error.sqlstate == SQLSTATE:
                raise PersonErased from None
            raise
        return await Database.call(pool, function, rows, **values)

    def batched(
        self, ask: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]], what: str = "the database"
    ) -> Callable[[Question], Awaitable[Reply]]:
        """Return a look-up that batches concurrent calls: `ask` returns the replies in the order of the questions.

        Each tenant's calls form a separate batch, so that row-level security applies to the whole batch. A waiting call
        counts as one used connection. Transient errors are raised as Unavailable with the name `what`.
        """

        async def ask_by_tenant(asked: Sequence[tuple[str, Question]]) -> Sequence[Reply]:
            replies: dict[int, Reply] = {}
            for tenant in {tenant for tenant, _ in asked}:
                tenant_in_sight.set(tenant)
                places = [place for place, one in enumerate(asked) if one[0] == tenant]
                found = await ask([asked[place][1] for place in places])
                replies |= zip(places, found, strict=True)
            return [replies[place] for place in range(len(asked))]

        batcher = RequestBatcher(ask_by_tenant)

        async def look_up(question: Question) -> Reply:
            with connection_usage.get(), unavailable_as(what):
                return await batcher((tenant_in_sight.get(), question))

        return look_up
