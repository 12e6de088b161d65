"""Sends a case to a server on a real socket, and records what application and client receive."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from proofs.edges.cases import ANSWERS_EARLY, Case
from servicekit.web.connections import Connections
from servicekit.web.protocol import HEAD_LIMIT, HttpConnection
from servicekit.web.settings import HttpSettings

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@dataclass(frozen=True)
class Request:
    """Request as the application received it; `body` is None unless the whole body was read."""

    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes | None


@dataclass
class Observed:
    """Outcome of a case. `ended` is True if the server closed the connection before the client did."""

    requests: list[Request] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    ended: bool = False
    lost: bytes = b""
    """Bytes that the server wrote and the client did not get."""

    def __str__(self) -> str:
        seen = [f"{one.method} {one.path!r} {len(one.body or b'')} B" for one in self.requests]
        return f"{seen} {self.statuses}{' ended' if self.ended else ''}"


class _Tee:
    """Transport that keeps the written bytes."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.written = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self.written += data
        self._transport.write(data)


class _Watched:
    """Record of one server connection."""

    cycle: Any
    transport: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.changed = asyncio.Event()
        self.observed = Observed()
        self.received = 0
        self.awaits_body = self.is_lost = False
        self.tee: Any = None

    def connection_made(self, transport: Any) -> None:
        self.tee = _Tee(transport)
        super().connection_made(self.tee)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)  # type: ignore[misc]
        self.changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        super().connection_lost(exc)  # type: ignore[misc]
        self.changed.set()

    def is_quiet(self, sent: int) -> bool:
        """Return True if nothing happens until the client acts again."""
        if self.is_lost:
            return True
        if self.transport.is_closing():
            return True
        if self.received < sent:
            return False
        if self.cycle is None or self.cycle.response_complete:
            return True
        return self.awaits_body and not self.cycle.message_event.is_set()


class Ours(_Watched, HttpConnection):
    pass


class Reference(_Watched, H11Protocol):
    def send_400_response(self, msg: str) -> None:
        """Close the connection where uvicorn fails, because it cannot reject the rest of a body after its response."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()


class Server:
    """Server on a free port whose connections are recorded."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._connections: dict[int, asyncio.Future[Any]] = {}
        self.port = 0

    def connection(self, client_port: int) -> asyncio.Future[Any]:
        return self._connections.setdefault(client_port, asyncio.get_running_loop().create_future())

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        watched = await self.connection(scope["client"][1])
        body: bytes | None = None
        if ANSWERS_EARLY not in scope["raw_path"]:
            body = b""
            more = True
            while more:
                watched.awaits_body = True
                watched.changed.set()
                message = await receive()
                watched.awaits_body = False
                if message["type"] == "http.disconnect":
                    return
                body += message["body"]
                more = message["more_body"]
        headers = tuple(sorted((name, _value(name, value)) for name, value in scope["headers"]))
        watched.observed.requests.append(
            Request(scope["method"], scope["raw_path"], scope["query_string"], headers, body)
        )
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})
        watched.changed.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        config = uvicorn.Config(
            self.app,
            http=self._protocol,  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            interface="asgi3",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            h11_max_incomplete_event_size=HEAD_LIMIT,
            timeout_graceful_shutdown=1,
        )
        bound = socket.create_server(("127.0.0.1", 0), backlog=1_000)
        self.port = bound.getsockname()[1]
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
        task = asyncio.create_task(server.serve(sockets=[bound]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield self
        finally:
            server.should_exit = True
            await task

    def _protocol(self, **options: Any) -> Any:
        made = self._make(**options)
        connected = made.connection_made

        def connection_made(transport: Any) -> None:
            connected(transport)
            self.connection(transport.get_extra_info("peername")[1]).set_result(made)

        made.connection_made = connection_made
        return made

    async def observe(self, case: Case) -> Observed:
        """Send the case; when the server waits for the client, half-close, and read to the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        place = writer.get_extra_info("sockname")[1]
        watched = await self.connection(place)
        reading = asyncio.create_task(_read(reader))
        sent = 0
        with contextlib.suppress(OSError, RuntimeError):
            for piece in case.pieces:
                writer.write(piece)
                sent += len(piece)
                await writer.drain()
                if len(case.pieces) > 1:
                    await _until(watched, sent)
            if case.half_close:
                writer.write_eof()
        if not case.half_close:
            await _until(watched, sent)
        observed: Observed = watched.observed
        await _turns()
        observed.ended = not case.half_close and (watched.is_lost or watched.transport.is_closing())
        with contextlib.suppress(OSError, RuntimeError):  # uvloop raises the latter if it is already closed
            writer.write_eof()
        got = await reading
        writer.close()
        del self._connections[place]
        written = bytes(watched.tee.written)
        observed.statuses = [int(status) for status in _STATUS.findall(written)]
        observed.lost = written[len(got) :]
        return observed


def _value(name: bytes, value: bytes) -> bytes:
    """Return the value of a header; h11 writes that of a transfer-encoding in lower case."""
    return value.strip().lower() if name == b"transfer-encoding" else value.strip()


async def _read(reader: asyncio.StreamReader) -> bytes:
    got = bytearray()
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            got += data
    return bytes(got)


async def _until(watched: Any, sent: int) -> None:
    while not watched.is_quiet(sent):
        watched.changed.clear()
        await watched.changed.wait()


async def _turns() -> None:
    """Let the event loop run so that pending callbacks are done."""
    for _ in range(3):
        await asyncio.sleep(0)


def ours(make: Callable[..., Any] = Ours) -> Server:
    connections = Connections(HttpSettings(connections=1_000, header_seconds=60, response_seconds=60))
    return Server(partial(make, connections=connections))


def reference() -> Server:
    return Server(Reference)


Observe = Callable[[Case], Awaitable[Observed]]
