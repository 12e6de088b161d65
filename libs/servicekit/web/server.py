"""HTTP server within this process. Its port is bound before anything else starts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from agent_feedback_kit.deadlines import within
from servicekit.errors import StartError
from servicekit.web.connections import Connections
from servicekit.web.protocol import HttpConnection
from servicekit.web.settings import HttpSettings

UNSENT_LIMIT = 64 * 1024
"""Maximum number of response bytes that the operating system buffers. By default it buffers megabytes, and accepts more
only after the client has read a third of them, so a slow client would seem to read nothing."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program that starts the server."""
        yield


class HttpServer:
    """HTTP server on `host` and `port`. With port 0, a free port is chosen, which the attribute `port` then contains.

    `settings` limits the server's connections. Raises StartError if the port is unavailable.
    """

    def __init__(self, host: str, port: int, settings: HttpSettings | None = None) -> None:
        self._settings = settings or HttpSettings()
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # accepted connections inherit the option
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_LIMIT)
        try:
            self._socket.bind((host, port))
            self._socket.listen(128)
        except OSError as error:
            self._socket.close()
            why = "is in use" if error.errno == 98 else f"cannot be used ({error.strerror})"
            another = "choose another with --port (with make run: PORT=…)"
            raise StartError(f"Port {port} on {host} {why}: {another}.") from None
        self.host = host
        self.port = int(self._socket.getsockname()[1])
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, app: ASGIApp) -> None:
        connections = Connections(self._settings)
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", partial(HttpConnection, connections=connections)),
            ws="none",
            log_config=None,
            lifespan="off",
            access_log=False,
            timeout_graceful_shutdown=3,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="http")
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            with contextlib.suppress(TimeoutError):
                await within(5, self._task)
        self._socket.close()
