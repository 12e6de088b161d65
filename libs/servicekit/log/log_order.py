"""Order in which a group reads the partitions of related topics: by the log's time. Pure.

A message and an event about it are on different topics, on partitions of the same number. A consumer that reads
partition by partition would often handle the event first, after an outage above all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

GAP_MS = 10
"""Time without records, in milliseconds, at which a batch may end: events of one moment are written in any order."""
GAP_SHARE = 10
"""A batch ends at such a gap in the last tenth of its limit."""
STALE_MS = 200
"""Age of a partition's known end, compared with another partition's records, from which it must be fetched again. Two
fetches of an idle consumer are at most 100 ms apart."""
HOLD_SECONDS = 5.0
"""Maximum time that records wait for one unread position of another partition, in seconds."""


class PartitionHead(NamedTuple):
    """A partition among those of one number. Times are in milliseconds, and None if nothing is fetched.

    `head` is the time of its next record. `has_unread` is True if the log holds records that are not fetched.
    `known_at` is the time of its last fetch, and `fetched_at` that of the fetched records. `position` is the next
    offset, None if unknown. `read_to` is the time of the last record read; later ones are not earlier.
    """

    rank: int
    head: int | None
    fetched_at: int
    has_unread: bool
    known_at: int
    position: int | None
    read_to: int | None = None

    def may_precede(self, other: PartitionHead) -> bool:
        """Return True if records of this partition that are not fetched may be earlier than those of `other`."""
        if self.read_to is not None and other.head is not None and other.head <= self.read_to:
            return False
        return self.has_unread or (self.rank < other.rank and self.known_at < other.fetched_at - STALE_MS)


class MergeStep(NamedTuple):
    """The partition to read from, by its place in the sequence; the times of its next record, and the last to take."""

    number: int
    time: int
    until: float


def next_step(partitions: Sequence[PartitionHead]) -> MergeStep | None:
    """Return the partition with the earliest record, to be read up to the next partition's; None if nothing is fetched.

    Of the same time, the lower rank is first. A partition without fetched records is checked again behind its last one.
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
    """End of a batch's part from some partitions: `limit` records at most, the last `spare` of them up to a gap."""

    def __init__(self, limit: int | None, spare: int) -> None:
        self._limit = limit
        self._spare = spare
        self._last: int | None = None
        self.taken = 0

    def room(self, step: MergeStep) -> int | None:
        """Return the number of records to take at once for `step`, 0 at the end; None without a limit."""
        if self._limit is None:
            return None
        before_gap = self._limit - self._spare - self.taken
        if before_gap > 0:
            return before_gap
        if self._last is None or step.time - self._last < GAP_MS:
            return min(1, self._limit - self.taken)
        return 0

    def took(self, records: int, last: int) -> None:
        """Note records taken, and the time of the last one."""
        self.taken += records
        self._last = last


class HoldDeadlines:
    """Positions that others wait for, each at most for `HOLD_SECONDS` until it is read."""

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[int | None, float]] = {}

    def missing(self, partitions: Mapping[Hashable, PartitionHead], first: PartitionHead, now: float) -> float | None:
        """Return the seconds that the earliest record, in the partition `first`, still has to wait; None if none."""
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
