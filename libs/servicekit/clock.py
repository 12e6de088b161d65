"""Clock used by all services; tests can replace it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Return the current time in microseconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Return a monotonic time in seconds, which also advances while the process is stopped by a signal."""
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        return time.monotonic()


class FixedClock:
    """Clock with a fixed current time, for processing old data as of that time. Its monotonic time advances."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()
