"""Age of a group's lag: seconds since the first record that it has not committed was written. Pure.

The log answers which offsets it ends at, not when a record was written. So the age is taken from two sources. While the
end offsets were observed, the first record beyond the committed offset is as old as the first observation that included
it. Before the first observation, or if the backlog is older than it, the record after the last one read is about as old
as that one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

P = TypeVar("P", bound=Hashable)
OBSERVATIONS: Final = 720
"""Maximum observations kept of a partition: an hour at one every five seconds."""


@dataclass
class _Partition:
    ends: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=OBSERVATIONS))
    """Observed (time in microseconds, end offset), oldest first."""
    read_until: int | None = None
    """Log time in microseconds of the last record that was committed."""


class LagAge(Generic[P]):
    """Lag in seconds over the partitions of one group."""

    def __init__(self) -> None:
        self._partitions: dict[P, _Partition] = {}

    def committed(self, log_times: Mapping[P, int]) -> None:
        """Note the log time (microseconds) of the last committed record by partition."""
        for partition, log_time in log_times.items():
            self._of(partition).read_until = log_time

    def forget(self) -> None:
        """Drop all observations: the partitions were assigned again."""
        self._partitions.clear()

    def seconds(self, ends: Mapping[P, int], committed: Mapping[P, int], now: int) -> float:
        """Note the end offsets at `now` (microseconds), and return the age of the oldest record beyond `committed`."""
        return max((self._age(one, end, committed.get(one, 0), now) for one, end in ends.items()), default=0.0)

    def _age(self, partition: P, end: int, committed: int, now: int) -> float:
        known = self._of(partition)
        if end <= committed:
            known.ends.clear()
            known.ends.append((now, end))
            return 0.0
        known.ends.append((now, end))
        while len(known.ends) > 1 and known.ends[1][1] <= committed:
            known.ends.popleft()
        (seen_at, seen_end) = known.ends[0]
        if seen_end <= committed:
            # The record was written after this observation, and before the next one.
            return max(0, now - known.ends[1][0]) / 1_000_000
        since = seen_at if known.read_until is None else min(seen_at, known.read_until)
        return max(0, now - since) / 1_000_000

    def _of(self, partition: P) -> _Partition:
        return self._partitions.setdefault(partition, _Partition())
