"""Measurement of how long tasks wait for database connections, and how many they hold."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import Any

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


class MeasuredConnection:
    """Async context manager for a connection of a pool.

    It measures how long the caller waits for the connection. The time for which a batch holds the connection counts
    towards the batch's `database` stage.
    """

    __slots__ = ("_context", "_pool", "_start", "_times", "_usage")

    def __init__(self, context: Any, pool: str) -> None:
        self._context = context
        self._pool = pool
        self._usage = connection_usage.get()
        self._times: StageTimes | None = None

    async def __aenter__(self) -> Any:
        self._usage.count += 1
        requested = perf_counter()
        try:
            connection = await self._context.__aenter__()
        except BaseException:
            self._usage.count -= 1
            raise
        self._start = perf_counter()
        self._times = current_times.get()
        metrics.POOL_WAIT.labels(self._pool).observe(self._start - requested)
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._context.__aexit__(kind, error, trace)
        finally:
            self._usage.count -= 1
            if self._times is not None:
                end = perf_counter()
                self._times.add("database", self._start, end, end - self._start)
