"""Detection of writes to the in-process broker, so that its consumers need not poll it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from servicekit.log.write_signal import WriteSignal, write_signal
from standalone.embedded.memory_broker import MemoryBroker

INTERVAL_SECONDS: Final = 0.02
"""Interval in seconds at which the broker is checked, and thus the longest delay of a record."""


@asynccontextmanager
async def watched(broker: MemoryBroker) -> AsyncIterator[None]:
    """Notify consumers of writes to a running broker. Only consumers started inside this context are notified."""
    with write_signal(broker.bootstrap) as signal:
        broker.track_writes()
        task = asyncio.create_task(_watch(broker, signal))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _watch(broker: MemoryBroker, signal: WriteSignal) -> None:
    while True:
        await asyncio.sleep(INTERVAL_SECONDS)
        if broker.was_written():
            signal.notify()
