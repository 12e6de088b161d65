"""Pool of PostgreSQL connections that releases them inline, and counts the connections that some work uses."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy


class ConnectionUsage:
    """Number of connections that some work waits for or holds; a `with` block counts one held on its behalf."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


connection_usage: ContextVar[ConnectionUsage] = ContextVar(
    "connection_usage",
    default=ConnectionUsage(),  # noqa: B039 # shared by all work whose usage nobody asks for
)
"""Usage by the current task and the tasks that it starts."""


class InlineReleasePool(asyncpg.Pool):
    """asyncpg's pool, except that a connection that needs no clean-up is released inline.

    asyncpg starts a task for every release, so that it completes even if the caller is cancelled. That task takes a
    third of the time of a small statement. An inline release awaits nothing, so it cannot be cancelled.
    """

    __slots__ = ()

    async def _acquire(self, timeout: float | None) -> PoolConnectionProxy[Any]:  # noqa: ASYNC109 # as asyncpg's
        mine = connection_usage.get()
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
        """Give `connection` back to the pool.

        This takes no task, unless the connection is closed, terminated, in a transaction, or due for replacement.
        """
        borrowed: Any = connection  # its type stubs omit these attributes
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
            connection_usage.get().count -= 1


def _needs_care(lent: Any, holder: Any) -> bool:
    protocol = lent._protocol
    return bool(
        lent.is_closed()
        or protocol._is_cancelling()
        or protocol.is_in_transaction()
        or lent._top_xact is not None
        or protocol.queries_count >= holder._max_queries
    )
