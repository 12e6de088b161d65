"""Registry of the HTTP server's connections. It limits their number, and the time for which clients may block them."""

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
    """State of a connection, named after the event that it waits for."""

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
    """Interface of a connection that the registry uses."""

    state: State | None

    @property
    def taken(self) -> int:
        """Bytes of responses that the operating system has accepted for sending so far."""
        ...

    def abort(self) -> None: ...


_REASONS: Final[Mapping[State, str]] = {
    State.HEAD: "slow",
    State.REST: "slow",
    State.READER: "not reading",
    State.END: "slow",
}


class Connections:
    """The open connections of one server: at most `limit`, and a small reserve that serves only health checks.

    At the limit, the connection that has waited longest for its client is closed. If all connections are in the state
    WORK, an additional connection belongs to the reserve. Each state except WORK has a deadline: `response_seconds`
    without progress in the state READER, `header_seconds` in the others.
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
        """Add a connection in state HEAD. Return False if it belongs to the reserve."""
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
        """Set the connection's state and start its deadline, unless the connection is in that state already."""
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
        """Close the connection in `among` that has waited longest for the client to close it (`State.END`).

        Without such a connection, close the one that has waited longest for a request (`State.HEAD`). Return False if
        no connection in `among` is in either state.
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
