"""HTTP server within this process: uvicorn on a port that is bound before anything else starts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_feedback_kit.deadlines import within
from servicekit.errors import StartError

HEAD_BYTES: Final = 64 * 1024
"""Maximum size of a request's head."""
HEAD_SECONDS: Final = 10.0
"""Maximum time to receive a request's head, or the rest of a body that was refused."""
CONNECTIONS: Final = 512
"""Maximum number of open connections; uvicorn answers further requests with 503."""


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, except that a connection closes if a request's head takes longer than HEAD_SECONDS.

    uvicorn closes idle connections only. Slow bodies and slow readers are left to the gateway.
    """

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.deadline = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_responding = self.cycle is not None and not self.cycle.response_complete
        if self.deadline is None and not is_responding:
            self.deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        elif self.deadline is not None and is_responding:
            self._end_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        super().connection_lost(exc)

    def _end_deadline(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program that starts the server."""
        yield


class HttpServer:
    """HTTP server on `host` and `port`. With port 0, a free port is chosen, which the attribute `port` then contains.

    Raises StartError if the port is unavailable.
    """

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
            self._socket.listen(128)
        except OSError as error:
            self._socket.close()
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            another = "choose another with --port (with make run: PORT=…)"
            raise StartError(f"Port {port} on {host} {why}: {another}.") from None
        self.host = host
        self.port = int(self._socket.getsockname()[1])
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            ws="none",
            log_config=None,
            lifespan="off",
            access_log=False,
            h11_max_incomplete_event_size=HEAD_BYTES,
            limit_concurrency=CONNECTIONS,
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
