"""Signal with which an in-process broker tells its consumers about new records.

If a fetch waits at such a broker, it is not answered when records arrive. Consumers of a broker with a signal therefore
fetch without waiting, and fetch again after the next signal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class WriteSignal:
    """Counter of a broker's writes on which consumers can wait."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Count a write and wake all waiting consumers."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int, seconds: float) -> None:
        """Wait until the number of writes differs from `count`, but no longer than `seconds`."""
        if self.count == count:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._next.wait(), seconds)


_SIGNALS: dict[str, WriteSignal] = {}


@contextmanager
def write_signal(server: str) -> Iterator[WriteSignal]:
    """Register a signal for the broker at `server` ("host:port").

    Only consumers that start within this block use it.
    """
    signal = _SIGNALS[server] = WriteSignal()
    try:
        yield signal
    finally:
        del _SIGNALS[server]


def signal_of(server: str) -> WriteSignal | None:
    """Return the signal of the broker at `server` ("host:port"), or None if there is none."""
    return _SIGNALS.get(server)
