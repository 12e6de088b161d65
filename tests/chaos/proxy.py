"""A door between one service and its database that the harness can make slow, or shut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable


class Door:
    """Listens on loopback and passes bytes on to the unix socket that `target` names at that moment."""

    def __init__(self, target: Callable[[], str]) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.delay = 0.0
        """Seconds by which everything the service says is held back."""
        self.shut = False

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
        """Break every connection that passes through."""
        for writer in list(self._open):
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        inner: asyncio.StreamWriter | None = None
        try:
            if self.shut:
                return
            answers, inner = await asyncio.open_unix_connection(self._target())
            self._open.add(inner)
            there = asyncio.create_task(self._pump(reader, inner, slow=True))
            back = asyncio.create_task(self._pump(answers, writer, slow=False))
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            there.cancel()
            back.cancel()
        except OSError:
            pass
        finally:
            for end in (writer, inner):
                if end is not None:
                    self._open.discard(end)
                    end.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                if slow and self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
