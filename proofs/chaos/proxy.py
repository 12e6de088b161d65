"""A proxy in front of a database, a broker or an HTTP port that can delay, close, or lose responses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from proofs.chaos.wire import WriteRecogniser


class Door:
    """Listener on loopback that forwards bytes to the Unix socket, or loopback port, that `target` currently names.

    If `target` raises OSError, the connection is closed at once. `recogniser` creates the object that finds the
    responses to writes of one connection.
    """

    def __init__(self, target: Callable[[], str | int], recogniser: Callable[[], WriteRecogniser]) -> None:
        self._target = target
        self._recogniser = recogniser
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.delay = 0.0
        """Seconds by which everything that the service sends is delayed."""
        self.shut = False
        self.withholds: Callable[[], bool] | None = None
        """Called at each response to a write; if it returns True, the connection is closed instead of forwarding the
        response."""
        self.withheld = 0
        """Number of responses that were not forwarded."""

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()

    def cut(self) -> None:
        """Break every connection through the proxy."""
        for writer in list(self._open):
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        inner: asyncio.StreamWriter | None = None
        try:
            if self.shut:
                return
            target = self._target()
            answers, inner = await (
                asyncio.open_connection("127.0.0.1", target)
                if isinstance(target, int)
                else asyncio.open_unix_connection(target)
            )
            self._open.add(inner)
            writes = self._recogniser()
            there = asyncio.create_task(self._pump_requests(reader, inner, writes))
            responses = asyncio.create_task(self._pump_responses(answers, writer, writes))
            await asyncio.wait({there, responses}, return_when=asyncio.FIRST_COMPLETED)
            there.cancel()
            responses.cancel()
        except OSError:
            pass
        finally:
            for end in (writer, inner):
                if end is not None:
                    self._open.discard(end)
                    end.close()

    async def _pump_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, writes: WriteRecogniser
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                writes.requested(data)
                writer.write(data)
                await writer.drain()

    async def _pump_responses(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, writes: WriteRecogniser
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if writes.confirmed(data) and self.withholds is not None and self.withholds():
                    self.withheld += 1
                    return
                writer.write(data)
                await writer.drain()
