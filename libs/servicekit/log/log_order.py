"""Order in which a group reads partitions of related topics: by log time. Pure.

A message and an event about it are on different topics, on partitions with the same number. A consumer that reads one
partition after the other would often handle the event first, especially after an outage.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

GAP_MS = 10
"""Minimum gap between records at which a batch may end, in milliseconds; simultaneous events have no fixed order."""
GAP_SHARE = 10
"""Fraction of a batch's limit, as a denominator: in its last tenth, the batch ends at such a gap."""
STALE_MS = 200
"""Age, relative to another partition's records, at which a partition's known end is stale, in milliseconds. A stale
partition must be fetched again. An idle consumer fetches at least every 100 ms."""
HOLD_SECONDS = 5.0
"""Maximum time for which records wait for one unread position of another partition, in seconds."""


class PartitionHead(NamedTuple):
    """State of one of the partitions with the same number. Times are in milliseconds.

    `head` is the time of its next record, None if nothing is fetched. `has_unread` is True if the log has more records.
    `known_at` is the time of its last fetch, and `fetched_at` is the fetch time of its fetched records. `position` is
    the next offset, None if unknown. `read_to` is the time of the last record read; later records are never earlier.
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

    The partition is read up to the time of the next partition's first record; at equal times, the topic with the lower
    rank is first. Reading also stops at the time of the last record read from a partition without fetched records. That
    partition is then checked again.
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
    """Decides where a batch ends: after at most `limit` records, or at a gap within the last `spare` of them."""

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
    """Positions that other partitions wait for, each with a deadline of `HOLD_SECONDS`."""

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[int | None, float]] = {}

    def missing(self, partitions: Mapping[Hashable, PartitionHead], first: PartitionHead, now: float) -> float | None:
        """Return the remaining wait of the earliest record, in partition `first`, in seconds; None without a wait."""
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
