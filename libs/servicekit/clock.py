"""Clock of all services, which tests can replace."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Return the current time in microseconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Return the time of a monotonic clock in seconds.

        The clock also advances while the process is stopped by a signal (SIGSTOP).
        """
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        return time.monotonic()


class FixedClock:
    """Clock whose current time is fixed, for processing old data. Its monotonic time still advances."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()
