"""Detection of writes to the in-process broker, so that its consumers need not poll it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
        watch = _Watch(broker, signal)
        try:
            yield
        finally:
            watch.timer.cancel()


class _Watch:
    """Repeated check. It is a timer instead of a task, because an idle process spends most of its time here."""

    def __init__(self, broker: MemoryBroker, signal: WriteSignal) -> None:
        self._broker, self._signal = broker, signal
        self._loop = asyncio.get_running_loop()
        self.timer = self._loop.call_later(INTERVAL_SECONDS, self._check)

    def _check(self) -> None:
        self.timer = self._loop.call_later(INTERVAL_SECONDS, self._check)
        if self._broker.was_written():
            self._signal.notify()
