"""The clock that services read, so that tests can set it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Microseconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards, and go on while the process is stopped by a signal."""
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        return time.monotonic()


class FixedClock:
    """A clock that shows one moment, for judging old files as if on the day they were written."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()
