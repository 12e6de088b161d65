"""Signal that an in-process broker received records, for its consumers.

Such a broker does not answer a waiting fetch when records arrive. Consumers of a broker with a signal therefore fetch
without waiting, and then wait for the signal before their next fetch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class WriteSignal:
    """Number of the observed writes, and a way to wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Count a write, and wake all waiting consumers."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int, seconds: float) -> None:
        """Wait at most `seconds` until the number of writes differs from `count`."""
        if self.count == count:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._next.wait(), seconds)


_SIGNALS: dict[str, WriteSignal] = {}


@contextmanager
def write_signal(server: str) -> Iterator[WriteSignal]:
    """Provide a signal to the consumers of the broker at `server` ("host:port") that start in this block."""
    signal = _SIGNALS[server] = WriteSignal()
    try:
        yield signal
    finally:
        del _SIGNALS[server]


def signal_of(server: str) -> WriteSignal | None:
    """Return the signal of the broker at `server` ("host:port"), or None if it has none."""
    return _SIGNALS.get(server)
