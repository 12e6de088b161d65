"""Holds a consumer whose own code keeps failing, so that a bad release does not empty a topic into the dead letters."""

from __future__ import annotations

from collections import deque

WINDOW = 1_000
"""Records looked back on."""
LIMIT = 0.10
"""Share of bugs among them that opens the breaker."""
MINIMUM = 100
"""Records seen before the breaker can open: a first bad record alone proves nothing."""
PROBE_SECONDS = 60.0
"""Seconds between two batches while it is open."""


class Breaker:
    """Open while more than 10 % of the last 1,000 records were bugs."""

    def __init__(self, pause_seconds: float = PROBE_SECONDS) -> None:
        self.pause_seconds = pause_seconds
        self._runs: deque[tuple[int, int]] = deque()
        self._bugs = 0
        self._records = 0

    def record(self, bugs: int, records: int) -> None:
        """Count `records`, of which `bugs` failed on our own code."""
        self._runs.append((bugs, records))
        self._bugs += bugs
        self._records += records
        while self._runs and self._records - self._runs[0][1] >= WINDOW:
            old_bugs, old_records = self._runs.popleft()
            self._bugs -= old_bugs
            self._records -= old_records

    @property
    def open(self) -> bool:
        return self._records >= MINIMUM and self._bugs > LIMIT * self._records
