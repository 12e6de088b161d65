"""Holds a consumer whose own code keeps failing, so that a bad release does not empty a topic into the dead letters."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW = 1_000
"""Records of a topic looked back on."""
LIMIT = 0.10
"""Share of bugs among them that opens the breaker."""
MINIMUM = 100
"""Records of a topic seen before the breaker can open: a first bad record alone proves nothing."""
PROBE_SECONDS = 60.0
"""Seconds between a bug and the next try while it is open."""


@dataclass
class _Window:
    """The last records of one topic, as runs of (bugs, records)."""

    runs: deque[tuple[int, int]] = field(default_factory=deque)
    bugs: int = 0
    records: int = 0

    def add(self, bugs: int, records: int) -> None:
        self.runs.append((bugs, records))
        self.bugs += bugs
        self.records += records
        while self.records - self.runs[0][1] >= WINDOW:
            old_bugs, old_records = self.runs.popleft()
            self.bugs -= old_bugs
            self.records -= old_records

    @property
    def bad(self) -> bool:
        return self.records >= MINIMUM and self.bugs > LIMIT * self.records


class BugRateBreaker:
    """Open while more than 10 % of the last 1,000 records of a topic were bugs.

    While it is open, one record is tried. After a bug the next try waits; after a success twice as many are tried at
    once, until the share of bugs has fallen below the limit.
    """

    def __init__(self) -> None:
        self._windows: defaultdict[str, _Window] = defaultdict(_Window)
        self._probe = 1
        self.resting = False
        """Whether the next try has to wait for `PROBE_SECONDS`."""

    def handled(self, records: Mapping[str, int]) -> None:
        """Count records that were handled without a bug, by topic."""
        was_open = self.open
        for topic, count in records.items():
            self._windows[topic].add(0, count)
        self._probe = self._probe * 2 if was_open and self.open else 1

    def failed(self, topic: str) -> None:
        """Count a record that our own code failed on."""
        self._windows[topic].add(1, 1)
        self._probe = 1
        self.resting = self.open

    def rested(self) -> None:
        """Allow the next try."""
        self.resting = False

    @property
    def open(self) -> bool:
        return any(window.bad for window in self._windows.values())

    def allowed(self, records: int) -> int:
        """How many of `records` may be tried at once."""
        return min(records, self._probe) if self.open else records
