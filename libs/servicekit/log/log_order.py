"""Order in which a group reads partitions of related topics: by log time. Pure.

A message and an event about it are on different topics, on partitions with the same number. A consumer that reads one
partition after the other would often handle the event first, especially after an outage.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

GAP_MS = 10
"""Minimum time between the last record of a batch and the next record, in milliseconds, if the batch can choose its
end. Simultaneous events may be written in any order, so their records should be in one batch."""
GAP_SHARE = 10
"""Denominator of the last fraction of a batch's limit in which the batch ends at a gap: 10 means the last tenth."""
STALE_MS = 200
"""Maximum age of a partition's last fetch when another partition's records were fetched, in milliseconds. With an older
fetch, the partition may have earlier records that are not known yet, so it is fetched first. An idle consumer fetches
at least every 100 ms."""
HOLD_SECONDS = 5.0
"""Maximum time for which records wait until another partition's next position is read, in seconds."""


class PartitionHead(NamedTuple):
    """State of one of the equally numbered partitions of related topics. Times are in milliseconds.

    `rank` orders the topics. `head` is the time of the partition's next fetched record, None if nothing is fetched.
    `has_unread` is True if the log has records that are not fetched. `known_at` is the time of the partition's last
    fetch, and `fetched_at` is the time at which its fetched records were fetched. `position` is the next offset, None
    if unknown. `read_to` is the time of the last record read; the records after it have no earlier time.
    """

    rank: int
    head: int | None
    fetched_at: int
    has_unread: bool
    known_at: int
    position: int | None
    read_to: int | None = None

    def may_precede(self, other: PartitionHead) -> bool:
        """Return True if unfetched records of this partition may be earlier than the fetched records of `other`."""
        if self.read_to is not None and other.head is not None and other.head <= self.read_to:
            return False
        return self.has_unread or (self.rank < other.rank and self.known_at < other.fetched_at - STALE_MS)


class MergeStep(NamedTuple):
    """Next partition to read: its index, the time of its next record, and the maximum time of records to take."""

    number: int
    time: int
    until: float


def next_step(partitions: Sequence[PartitionHead]) -> MergeStep | None:
    """Return the step that reads the partition with the earliest record; None if nothing is fetched.

    The step ends before the first record of the next partition; at equal times, the topic with the lower rank is first.
    It also ends at `read_to` of each partition without fetched records, because the next record of that partition may
    be the earliest one after `read_to`. The caller then computes the next step.
    """
    order = sorted(
        (partition.head, partition.rank, index)
        for index, partition in enumerate(partitions)
        if partition.head is not None
    )
    if not order:
        return None
    first, rank, index = order[0]
    ends = [one.read_to for one in partitions if one.head is None and one.read_to is not None and one.read_to >= first]
    if len(order) > 1:
        after, other, _ = order[1]
        ends.append(after - (rank > other))
    return MergeStep(index, first, min(ends, default=math.inf))


class BatchEnd:
    """Rule for the end of a batch: after `limit` records, or before, at a gap among the last `spare` records."""

    def __init__(self, limit: int | None, spare: int) -> None:
        self._limit = limit
        self._spare = spare
        self._last: int | None = None
        self.taken = 0

    def room(self, step: MergeStep) -> int | None:
        """Return the maximum number of records to take for `step`: 0 at the batch's end, None without a limit."""
        if self._limit is None:
            return None
        before_gap = self._limit - self._spare - self.taken
        if before_gap > 0:
            return before_gap
        if self._last is None or step.time - self._last < GAP_MS:
            return min(1, self._limit - self.taken)
        return 0

    def took(self, records: int, last: int) -> None:
        """Record that `records` records were taken, and the time of the last one."""
        self.taken += records
        self._last = last


class HoldDeadlines:
    """Deadlines of held records: how long fetched records wait for partitions that may have earlier, unfetched records.

    The wait for each position of such a partition ends after `HOLD_SECONDS`.
    """

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[int | None, float]] = {}

    def missing(self, partitions: Mapping[Hashable, PartitionHead], first: PartitionHead, now: float) -> float | None:
        """Return the seconds that the next record of `first` still has to wait for others; None if it need not wait."""
        waits = []
        for key, partition in partitions.items():
            if partition.head is not None or not partition.may_precede(first):
                self._since.pop(key, None)
                continue
            position, since = self._since.get(key, (None, now))
            if key not in self._since or position != partition.position:
                self._since[key] = (partition.position, since := now)
            if (left := since + HOLD_SECONDS - now) > 0:
                waits.append(left)
        return max(waits, default=None)
