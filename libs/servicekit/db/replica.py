"""Reads from a streaming replica while its lag is small, otherwise from the primary.

This is meant for reads that need not see the latest writes. Row-level security applies on both servers, because roles
and policies are replicated.
"""

from __future__ import annotations

import math
from collections import deque
from types import TracebackType
from typing import Any, Final

import asyncpg

from agent_feedback_kit.deadlines import within
from servicekit import metrics
from servicekit.clock import Clock
from servicekit.db.database import Database
from servicekit.db.sql import SQL
from servicekit.error_kinds import is_transient
from servicekit.logging import logger

CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of the replica."""
MOST_POSITIONS: Final = 600
"""Maximum number of positions of the primary that are remembered until the replica has replayed them."""
_ANSWER_SECONDS: Final = 2.0
_LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
"""Errors of an unavailable replica, which do not affect the primary."""
_NO_ANSWER: Final = "does not answer"
_CONFLICT: Final = asyncpg.SerializationError
"""Error of a read that the replica cancels in order to replay a change, such as a vacuum."""
log = logger("replica")


class ReplicaLag:
    """Lag of a replica, measured by recording the primary's WAL position at intervals.

    The lag is the age of the oldest recorded position that the replica has not replayed yet. It does not depend on the
    servers' clocks, and an idle primary causes no lag. The lag counts as infinite until the replica has replayed its
    first recorded position.
    """

    def __init__(self) -> None:
        self._ahead: deque[tuple[float, int]] = deque()
        self._is_known = False

    def observe(self, now: float, written: int, replayed: int) -> float:
        """Record an observation and return the lag in seconds.

        Args:
            now: The time at which `written` was read.
            written: The WAL position of the primary.
            replayed: The WAL position of the replica, read after `written`.
        """
        if not self._ahead or self._ahead[-1][1] < written:
            # At the limit, the last entry gets the latest position and keeps its time, so the lag may be overstated.
            since = self._ahead.pop()[0] if len(self._ahead) == MOST_POSITIONS else now
            self._ahead.append((since, written))
        while self._ahead and self._ahead[0][1] <= replayed:
            self._ahead.popleft()
            self._is_known = True
        if not self._is_known:
            return math.inf
        return now - self._ahead[0][0] if self._ahead else 0.0


class ReplicaReads:
    """Read pool that uses the replica if the latest check found it usable, and otherwise the primary.

    It offers the methods of asyncpg's pool that are needed for reading. If a query through the pool fails because of
    the replica, it is repeated on the primary. A query on an acquired connection is not repeated.
    """

    def __init__(
        self, primary: Database, replica: Database, clock: Clock, *, name: str, migration: str, most_seconds: float
    ) -> None:
        self._primary = primary
        self._replica = replica
        self._clock = clock
        self._name = name
        self._migration = migration
        self.most_seconds = most_seconds
        self._lag = ReplicaLag()
        self.reason: str | None = "has not been checked yet"
        """Reason why the replica is not used, as the predicate of a sentence; None while it is used."""

    @property
    def warnings(self) -> list[str]:
        """Warning for operators if reads use the primary."""
        return [] if self.reason is None else [f"{self._name}: the replica {self.reason}, so reads use the primary"]

    async def check(self) -> None:
        """Check if the replica can be used, and update `reason`.

        If the primary does not respond, its error is raised and `reason` stays unchanged.
        """
        now = self._clock.monotonic()
        primary = await self._primary.fetchrow(*SQL.primary_position())
        assert primary is not None
        try:
            replica = await within(_ANSWER_SECONDS, self._replica.fetchrow(*SQL.replica_state(newest=self._migration)))
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            self._use(reason="lacks the service's tables")
            return
        except Exception as error:
            if not is_transient(error):
                raise
            self._use(reason=_NO_ANSWER)
            return
        assert replica is not None
        if replica["cluster"] != primary["cluster"]:
            self._use(reason="is a replica of another server")
        elif replica["replayed"] is None:
            self._use(reason="accepts writes, so it is not a replica")
        else:
            seconds = self._lag.observe(now, primary["written"], replica["replayed"])
            metrics.REPLICA_LAG.labels(self._name).set(seconds)
            if seconds == math.inf:
                self._use(reason="has not caught up yet")
            elif seconds > self.most_seconds:
                self._use(reason=f"lags by {seconds:.0f} seconds")
            else:
                self._use(reason=None if replica["is_migrated"] else "lacks the latest migration")

    def _use(self, *, reason: str | None) -> None:
        if (reason is None) != (self.reason is None):
            log.warning("replica", service=self._name, used=reason is None, why=reason or "")
        if reason == _NO_ANSWER:
            self._lag = ReplicaLag()
        self.reason = reason
        metrics.REPLICA_USED.labels(self._name).set(reason is None)

    async def close(self) -> None:
        """Close the connections to the replica. Those to the primary belong to another pool."""
        await self._replica.close()

    async def fetch(self, query: str, *values: Any) -> Any:
        return await self._read("fetch", query, values)

    async def fetchrow(self, query: str, *values: Any) -> Any:
        return await self._read("fetchrow", query, values)

    async def fetchval(self, query: str, *values: Any) -> Any:
        return await self._read("fetchval", query, values)

    async def _read(self, method: str, query: str, values: tuple[Any, ...]) -> Any:
        if self.reason is None:
            try:
                return await getattr(self._replica, method)(query, *values)
            except _CONFLICT:
                pass
            except _LOST as error:
                if not _is_slow(error):
                    self._use(reason=_NO_ANSWER)
                elif self.reason is None:
                    raise
        return await getattr(self._primary, method)(query, *values)

    def acquire(self) -> _Lent:
        """Return an async context manager for a connection."""
        return _Lent(self)

    async def lend(self) -> Any:
        """Acquire a connection.

        Returns:
            The pool's context manager, which has been entered, and the connection.
        """
        if self.reason is None:
            lent: Any = self._replica.acquire()
            try:
                return lent, await lent.__aenter__()
            except _LOST:
                self._use(reason=_NO_ANSWER)
        lent = self._primary.acquire()
        return lent, await lent.__aenter__()


def _is_slow(error: BaseException) -> bool:
    """Return True for a query timeout, but not for a network timeout, which has an `errno`.

    A query timeout does not prove that the replica is down, because any caller may send a slow query. A replica that
    does not respond is found by the periodic check.
    """
    return isinstance(error, TimeoutError) and error.errno is None


class _Lent:
    """Async context manager for a connection from the replica's or the primary's pool."""

    def __init__(self, reads: ReplicaReads) -> None:
        self._reads = reads
        self._lent: Any = None

    async def __aenter__(self) -> Any:
        self._lent, connection = await self._reads.lend()
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lent.__aexit__(kind, error, trace)
