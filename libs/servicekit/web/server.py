"""An HTTP server in the same process, on a socket that is bound before anything else starts, and limits on bodies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Mapping
from functools import partial
from typing import cast

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_feedback_kit.deadlines import within
from servicekit.errors import StartError
from servicekit.web.connections import Connections
from servicekit.web.protocol import HttpConnection
from servicekit.web.settings import HttpSettings

BODY_LIMIT = 64 * 1024
"""Maximum bytes of a request's body, unless its path has another limit."""

UNSENT_LIMIT = 64 * 1024
"""Maximum bytes of a response that the operating system buffers. By default it buffers megabytes, and accepts more
only after the client has read a third of them, so a slow reader would seem to read nothing."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the composition root."""
        yield


class HttpServer:
    """Server of `app` on `host`:`port` until it is stopped. Port 0 selects a free one; `port` has its number.

    `settings` limit its connections. Raises StartError if the port is unavailable.
    """

    def __init__(self, host: str, port: int, settings: HttpSettings | None = None) -> None:
        self._settings = settings or HttpSettings()
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # its connections inherit it
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


class BodyLimit:
    """Middleware that responds with 413 to a body over its path's limit before it is read into memory. `limits` is
    by path prefix."""

    def __init__(self, app: ASGIApp, limits: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._limits = dict(limits or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = next((n for prefix, n in self._limits.items() if scope["path"].startswith(prefix)), BODY_LIMIT)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        seen = 0
        answered = False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise _BodyTooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            if seen > limit and not answered:
                return  # the application's response to the truncated body is discarded
            answered = True
            await send(message)

        with contextlib.suppress(_BodyTooLarge):
            await self._app(scope, counted, noted)
        if seen > limit and not answered:
            await _too_large(limit)(scope, receive, send)


class _BodyTooLarge(Exception):
    pass


def _too_large(limit: int) -> JSONResponse:
    return JSONResponse({"detail": f"The body is larger than {limit} bytes."}, 413)
