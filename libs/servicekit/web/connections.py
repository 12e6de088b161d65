"""Registry of the HTTP server's connections, which limits their number and how long a client may keep one busy."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final, Protocol

from servicekit import metrics
from servicekit.logging import logger
from servicekit.web.settings import HttpSettings

RESERVE: Final = 16
"""Number of connections beyond the limit, which serve only health checks."""
PROGRESS: Final = 32 * 1024
"""Minimum number of response bytes that a client must read within `response_seconds`, unless fewer are left."""
LOG_SECONDS: Final = 10.0
"""Minimum seconds between two log lines about the limit."""
log = logger("http")


class State(Enum):
    """State of a connection, named after what the connection is waiting for."""

    HEAD = auto()
    """The head of a request, which is incomplete or has not begun."""
    WORK = auto()
    """The application. It limits the size of the body, and the time until its response begins."""
    REST = auto()
    """The rest of a request body after the response was sent; it is discarded."""
    READER = auto()
    """The client, which must read its response: the operating system's send buffer is full."""
    END = auto()
    """The close of the client's side, after ours; bytes that it still sends are discarded."""


class Connection(Protocol):
    """Interface through which the registry tracks and aborts a connection."""

    state: State | None

    @property
    def taken(self) -> int:
        """Number of response bytes that the operating system has accepted for sending."""
        ...

    def abort(self) -> None: ...


_REASONS: Final[Mapping[State, str]] = {
    State.HEAD: "slow",
    State.REST: "slow",
    State.READER: "not reading",
    State.END: "slow",
}


class Connections:
    """Open connections of a server: at most `limit`, plus a small reserve that serves only health checks.

    At the limit, a new connection replaces an open one whose client has yet to close it or to send a request. If all
    open connections are in use, the new connection joins the reserve.

    Every state except WORK has a deadline: `response_seconds` without progress in the state READER, and
    `header_seconds` in the other states.
    """

    def __init__(self, settings: HttpSettings) -> None:
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        limit = settings.connections
        self.limit = limit if descriptors == resource.RLIM_INFINITY else max(8, min(limit, descriptors // 2))
        self._open: set[Connection] = set()
        self._reserve: set[Connection] = set()
        self._seconds = dict.fromkeys(_REASONS, settings.header_seconds)
        self._seconds[State.READER] = settings.response_seconds
        self._due: dict[State, dict[Connection, tuple[float, int]]] = {state: {} for state in _REASONS}
        """Each connection's deadline and its value of `taken` at the time when the deadline was set, ordered by
        deadline."""
        self._sweeps: dict[State, asyncio.TimerHandle] = {}
        self._logged_at: float | None = None
        self._unlogged = 0

    def opened(self, connection: Connection) -> bool:
        """Add a connection in the state HEAD. Return False if it belongs to the reserve."""
        if len(self._open) >= self.limit:
            self._note_full()
            if not self._make_room(self._open):
                if len(self._reserve) >= RESERVE and not self._make_room(self._reserve):
                    self._close(next(iter(self._reserve)), "refused")
                self._reserve.add(connection)
                self.enters(connection, State.HEAD)
                return False
        self._open.add(connection)
        self.enters(connection, State.HEAD)
        return True

    def enters(self, connection: Connection, state: State) -> None:
        """Set the connection's state and, if the state has changed, start its deadline."""
        before, connection.state = connection.state, state
        if before is state:
            return
        if before is not None and before in self._due:
            self._due[before].pop(connection, None)
        if state in self._due:
            loop = asyncio.get_running_loop()
            self._due[state][connection] = (loop.time() + self._seconds[state], connection.taken)
            if state not in self._sweeps:
                self._sweeps[state] = loop.call_later(self._seconds[state], self._close_late, state)

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._reserve.discard(connection)
        for waiting in self._due.values():
            waiting.pop(connection, None)

    def too_large(self, connection: Connection) -> None:
        """Abort a connection that has sent more bytes than allowed."""
        self._close(connection, "too large")

    def _make_room(self, among: Iterable[Connection]) -> bool:
        """Close one connection of `among` to make room for a new one. Return False if none may be closed.

        The closed connection is the one that has waited longest for its client to close it (`State.END`). If there is
        none, it is the one that has waited longest for a request (`State.HEAD`).
        """
        for state in (State.END, State.HEAD):
            if oldest := next((one for one in self._due[state] if one in among), None):
                self._close(oldest, "crowded")
                return True
        return False

    def _close_late(self, state: State) -> None:
        del self._sweeps[state]
        loop = asyncio.get_running_loop()
        waiting = self._due[state]
        for connection, (deadline, taken) in list(waiting.items()):
            if deadline > loop.time():
                self._sweeps[state] = loop.call_at(deadline, self._close_late, state)
                return
            if connection.taken - taken >= PROGRESS:
                del waiting[connection]
                waiting[connection] = (loop.time() + self._seconds[state], connection.taken)
            else:
                self._close(connection, _REASONS[state])
        if waiting:
            self._sweeps[state] = loop.call_later(self._seconds[state], self._close_late, state)

    def _close(self, connection: Connection, reason: str) -> None:
        self.closed(connection)
        metrics.HTTP_CLOSED.labels(reason).inc()
        connection.abort()

    def _note_full(self) -> None:
        self._unlogged += 1
        now = asyncio.get_running_loop().time()
        if self._logged_at is None or now - self._logged_at >= LOG_SECONDS:
            log.warning(
                "http_connections_ran_out",
                limit=self.limit,
                waiting_for_a_request=len(self._due[State.HEAD]),
                times=self._unlogged,
                setting="HTTP_CONNECTIONS",
            )
            self._logged_at, self._unlogged = now, 0
