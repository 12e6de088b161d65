"""PostgreSQL connection pool that releases connections inline and counts the connections used by each task."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import Any, Final

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from servicekit import metrics
from servicekit.stages import StageTimes, current_times


class ConnectionUsage:
    """Counter of the database connections that a task holds or waits for.

    Use it as a context manager to also count a connection that another task uses on this task's behalf.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


connection_usage: ContextVar[ConnectionUsage] = ContextVar(
    "connection_usage",
    default=ConnectionUsage(),  # noqa: B039 # shared by all tasks that are not measured
)
"""Connection usage of the current task and the tasks that it starts."""


APPLICATION: Final = "agent-feedback "
"""Prefix of the application name of a pool's connections."""
_lent_at: Final[dict[Any, tuple[StageTimes, float]]] = {}
"""For each connection that a batch uses, by its holder in asyncpg's pool: the batch's stage times, and the
`perf_counter` time at which the connection was acquired."""


class InlineReleasePool(asyncpg.Pool):
    """asyncpg pool that releases connections inline, without starting a task, unless they need cleaning up.

    asyncpg starts a task for each release, so that the release completes even if the caller is cancelled. With a small
    statement, a third of the time is spent on that task. An inline release awaits nothing, so it cannot be cancelled
    and needs no task.

    The pool also measures how long callers wait for a connection. The time for which a batch holds a connection counts
    towards the batch's `database` stage.
    """

    __slots__ = ()

    async def _acquire(self, timeout: float | None) -> PoolConnectionProxy[Any]:  # noqa: ASYNC109 # as asyncpg's
        mine = connection_usage.get()
        mine.count += 1
        asked = perf_counter()
        try:
            lent: PoolConnectionProxy[Any] = await super()._acquire(timeout)  # type: ignore[misc]  # stubs lack it
        except BaseException:
            mine.count -= 1
            raise
        now = perf_counter()
        whose: Any = self
        name = whose._connect_kwargs["server_settings"]["application_name"].removeprefix(APPLICATION)
        metrics.POOL_WAIT.labels(name).observe(now - asked)
        if (times := current_times.get()) is not None:
            held: Any = lent
            _lent_at[held._holder] = times, now
        return lent

    async def release(
        self,
        connection: PoolConnectionProxy[Any],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 # as asyncpg's
    ) -> None:
        """Return `connection` to the pool.

        This happens inline unless the connection is closed, in a transaction, due for replacement, or cancelling a
        query.
        """
        borrowed: Any = connection  # its type stubs omit these attributes
        lent, holder = borrowed._con, borrowed._holder
        if lent is not None and (began := _lent_at.pop(holder, None)) is not None:
            times, start = began
            end = perf_counter()
            times.add("database", start, end, end - start)
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
