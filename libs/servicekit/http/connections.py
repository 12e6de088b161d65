"""Connections of the HTTP server: how many there may be, and how long each may take over the head of a request."""

from __future__ import annotations

import asyncio
import json
import resource
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from servicekit import metrics
from servicekit.http.joined_writes import JoinedWrites
from servicekit.logging import logger

HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a request's head, its path included."""
LOG_SECONDS: Final = 10.0
"""Between two log lines on the same thing."""


def _last_answer(status: bytes, sentence: str, header: bytes = b"") -> bytes:
    """An answer as it goes over the wire, after which the connection ends."""
    body = json.dumps({"detail": sentence}).encode()
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\n%sconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, header, len(body)) + body


_FULL: Final = _last_answer(
    b"503 Service Unavailable", "Too many connections are open; send this again later.", b"retry-after: 5\r\n"
)
_UNREADABLE: Final = _last_answer(
    b"400 Bad Request", "This cannot be read as an HTTP request: it breaks the protocol, or its address is too long."
)
log = logger("http")


class Connections:
    """The open connections of one server, at most `limit`, and those that wait for a request's head, oldest first.

    Where all are taken, the one that has waited longest makes room; only where every one is at work is a newcomer
    refused. A head must be whole within `header_seconds` of the connection or of the answer before it.
    """

    def __init__(self, limit: int, header_seconds: float) -> None:
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.limit = limit if descriptors == resource.RLIM_INFINITY else max(8, min(limit, descriptors // 2))
        self._header_seconds = header_seconds
        self._open: set[BoundedProtocol] = set()
        self._waiting: dict[BoundedProtocol, float] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._logged_at: float | None = None
        self._unlogged = 0

    def opened(self, connection: BoundedProtocol) -> bool:
        """Take a connection in. Whether there is room for it."""
        self._open.add(connection)
        self.waits(connection)
        if len(self._open) <= self.limit:
            return True
        oldest = next(iter(self._waiting))
        self._note_full()
        if oldest is connection:
            return False
        self._close(oldest, "crowded")
        return True

    def waits(self, connection: BoundedProtocol) -> None:
        """Count the time from now until `connection` has sent the head of a request, unless it counts already."""
        if connection in self._open and connection not in self._waiting:
            loop = asyncio.get_running_loop()
            self._waiting[connection] = loop.time() + self._header_seconds
            if self._sweep is None:
                self._sweep = loop.call_later(self._header_seconds, self._close_slow)

    def works(self, connection: BoundedProtocol) -> None:
        """Stop counting: `connection` has a request at work."""
        self._waiting.pop(connection, None)

    def closed(self, connection: BoundedProtocol) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def too_large(self, connection: BoundedProtocol) -> None:
        """Close a connection whose request's head does not end."""
        self._close(connection, "too large")

    def _close_slow(self) -> None:
        self._sweep = None
        loop = asyncio.get_running_loop()
        for connection, deadline in list(self._waiting.items()):
            if deadline > loop.time():
                self._sweep = loop.call_at(deadline, self._close_slow)
                return
            self._close(connection, "slow")

    def _close(self, connection: BoundedProtocol, reason: str) -> None:
        self.closed(connection)
        metrics.HTTP_CLOSED.labels(reason).inc()
        connection.transport.abort()

    def _note_full(self) -> None:
        self._unlogged += 1
        now = asyncio.get_running_loop().time()
        if self._logged_at is None or now - self._logged_at >= LOG_SECONDS:
            log.warning(
                "http_connections_ran_out",
                limit=self.limit,
                waiting_for_a_request=len(self._waiting),
                times=self._unlogged,
                setting="HTTP_CONNECTIONS",
            )
            self._logged_at, self._unlogged = now, 0


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 connection, counted in `connections`."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._bounds = connections
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(JoinedWrites(transport))  # type: ignore[arg-type] # has all that a transport has
        if not self._bounds.opened(self):
            metrics.HTTP_CLOSED.labels("refused").inc()
            self.transport.write(_FULL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._count()
        self._head_bytes = 0 if self._at_work else self._head_bytes + len(data)
        if self._head_bytes > HEAD_LIMIT:
            self._bounds.too_large(self)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read. An address of 64 KiB or more is among it."""
        self.transport.write(_UNREADABLE)
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._count()

    @property
    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _count(self) -> None:
        if self._at_work:
            self._bounds.works(self)
        else:
            self._bounds.waits(self)
