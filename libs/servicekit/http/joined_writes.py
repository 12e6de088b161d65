"""Sends an answer's head and body together."""

from __future__ import annotations

import asyncio
from typing import Any, Final

HELD_LIMIT: Final = 64 * 1024
"""Bytes of an answer that are held until the event loop turns."""


class JoinedWrites:
    """`transport`, with all that is written in one turn of the event loop sent at once.

    uvicorn writes an answer's head and body one after the other. Each would be a packet of its own that wakes the
    client, which costs more than making the answer.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held += data
        if len(self._held) > HELD_LIMIT:  # else a long answer made without a pause would never be told to wait
            self._send()

    def close(self) -> None:
        """Send what is held, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        held, self._held = self._held, bytearray()
        if held and not self._transport.is_closing():
            self._transport.write(held)
