"""Transport wrapper that sends a response's head and body together, and lets its owner decide how to close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

HELD_LIMIT: Final = 64 * 1024
"""Maximum size of a response that is buffered until the event loop's next iteration, in bytes."""


class JoinedWrites:
    """Transport wrapper that collects the writes of one event loop iteration and sends them together.

    uvicorn writes the head and the body of a response separately. Each would be a packet of its own, and waking the
    client for a packet costs more than the response itself.

    `close` sends the buffered bytes and then calls `on_close`, which closes the connection by default.
    """

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None] | None = None) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held = bytearray()
        self._written = 0
        self._on_close = on_close or self.close_now
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def taken(self) -> int:
        """Number of response bytes that the operating system has accepted for sending.

        If the client does not read, the operating system stops accepting bytes.
        """
        return self._written - self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._closed or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if self._closed:
            return
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held += data
        if len(self._held) > HELD_LIMIT:  # otherwise a long response would be buffered without backpressure
            self.flush()

    def close(self) -> None:
        """Send the buffered bytes, then call `on_close`."""
        if not self._closed:
            self.flush()
            self._closed = True
            self._on_close()

    def close_now(self) -> None:
        """Close both directions of the connection once all written bytes have been sent."""
        self._transport.close()

    def is_cut(self) -> bool:
        """Return True if both directions of the connection are closed or closing."""
        return self._transport.is_closing()

    def flush(self) -> None:
        """Send the buffered bytes."""
        held, self._held = self._held, bytearray()
        if held and not self._transport.is_closing():
            self._written += len(held)
            self._transport.write(held)
