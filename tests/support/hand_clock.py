"""Clocks that tests set."""

from __future__ import annotations

import time


class HandClock:
    """Clock that starts far from zero and advances on request, in seconds."""

    def __init__(self) -> None:
        self._seconds = 1_000.0

    def now(self) -> int:
        return int(self._seconds * 1_000_000)

    def monotonic(self) -> float:
        return self._seconds

    def forward(self, seconds: float) -> None:
        self._seconds += seconds


class FixedClock:
    """Clock whose current time is fixed. Its monotonic time still advances."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()
