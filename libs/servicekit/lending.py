"""A pool of PostgreSQL connections that takes them back at once, and counts who waits for the database."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy


class Loans:
    """How many connections some work waits for or holds. A `with` counts one that others borrow in its stead."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


loans: ContextVar[Loans] = ContextVar("loans", default=Loans())  # noqa: B039 # for all that nobody asks about
"""Those of the work at hand, the tasks that it starts included."""


class QuickPool(asyncpg.Pool):
    """asyncpg's pool, but a connection that needs nothing done is given back where it was borrowed.

    asyncpg starts a task of its own for that each time, so that it is done even where the borrower is cancelled: a
    third of what a small statement takes. Nothing is awaited here, so there is nothing to cancel.
    """

    __slots__ = ()

    async def _acquire(self, timeout: float | None) -> PoolConnectionProxy[Any]:  # noqa: ASYNC109 # as asyncpg's
        mine = loans.get()
        mine.count += 1
        try:
            lent: PoolConnectionProxy[Any] = await super()._acquire(timeout)  # type: ignore[misc]  # stubs lack it
        except BaseException:
            mine.count -= 1
            raise
        return lent

    async def release(
        self,
        connection: PoolConnectionProxy[Any],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 # as asyncpg's
    ) -> None:
        """Take `connection` back; at once, unless it is closed, cut off, in a transaction or much used."""
        borrowed: Any = connection  # its types leave out what the pool itself goes by
        lent, holder = borrowed._con, borrowed._holder
        if lent is None or holder._pool is not self:
            await super().release(connection, timeout=timeout)
            return
        try:
            if _needs_care(lent, holder):
                await super().release(connection, timeout=timeout)
                return
            lent._on_release()
            holder._release()
            holder._setup_inactive_callback()
        finally:
            loans.get().count -= 1


def _needs_care(lent: Any, holder: Any) -> bool:
    protocol = lent._protocol
    return bool(
        lent.is_closed()
        or protocol._is_cancelling()
        or protocol.is_in_transaction()
        or lent._top_xact is not None
        or protocol.queries_count >= holder._max_queries
    )
