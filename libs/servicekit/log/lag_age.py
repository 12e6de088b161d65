"""Age of a consumer group's lag: how long its first uncommitted record has been in the log. No I/O.

The log reports end offsets, but not when a record was written, so the age is estimated. It begins when a partition's
observed end offset first includes the record. If the first observation already includes the record, the age begins at
the log time of the last committed record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

P = TypeVar("P", bound=Hashable)
OBSERVATIONS: Final = 720
"""Maximum number of observations kept per partition: one hour at one observation every five seconds."""


@dataclass
class _Partition:
    ends: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=OBSERVATIONS))
    """Observed (time in microseconds, end offset), oldest first."""
    read_until: int | None = None
    """Log time in microseconds of the last record that was committed."""


class LagAge(Generic[P]):
    """Lag age of a consumer group over all partitions that this process reads."""

    def __init__(self) -> None:
        self._partitions: dict[P, _Partition] = {}

    def committed(self, log_times: Mapping[P, int]) -> None:
        """Record the log time of each partition's last committed record, in microseconds."""
        for partition, log_time in log_times.items():
            self._of(partition).read_until = log_time

    def forget(self) -> None:
        """Discard all observations after a reassignment of the partitions."""
        self._partitions.clear()

    def seconds(self, ends: Mapping[P, int], committed: Mapping[P, int], now: int) -> float:
        """Record an observation of the end offsets, and return the age of the oldest uncommitted record in seconds.

        Args:
            now: The time of the observation in microseconds.
        """
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
