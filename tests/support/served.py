"""Servers on loopback ports: an ASGI application, and servers that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from servicekit.web.server import HttpServer

Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serve the application; yield its address."""
    server = HttpServer("127.0.0.1", 0)
    await server.start(app)
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.stop()


@asynccontextmanager
async def answering(handle: Connection) -> AsyncIterator[str]:
    """Run a server that passes each connection to `handle`; yield its address. Open connections end with it."""
    at_work: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        at_work.add(task)
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            at_work.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(at_work):
            task.cancel()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the request and never respond."""
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.Event().wait()


async def trickling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond one byte at a time, without end."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond with something other than HTTP."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\x00\xff 42 not http\r\n\r\n")
    await writer.drain()


async def a_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond to every request with a web page, like a wrong address."""
    while await reader.readuntil(b"\r\n\r\n"):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>hi</html>")
        await writer.drain()


async def hanging_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close every connection when its first bytes arrive."""
    await reader.read(1)


def nowhere() -> str:
    """Return an address without a server."""
    return "http://127.0.0.1:9"
