"""Order in which a consumer group reads related topics: by log time. No I/O.

A message and an event about it are on different topics, but in partitions with the same number. A consumer that read
one partition after the other would often handle the event first, especially after an outage.
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
    """State of a partition that is read together with the same-numbered partitions of related topics.

    Times are in milliseconds.

    - `rank`: rank of the topic; among records with the same time, the lowest rank is read first
    - `head`: time of the next fetched record, or None if none is fetched
    - `fetched_at`: time at which the fetched records were fetched
    - `has_unread`: True if the log has records that are not fetched yet
    - `known_at`: time of the last fetch
    - `position`: next offset, or None if unknown
    - `read_to`: time of the last record read; all later records have the same time or a later one
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
    """Next step of the merge.

    `number` is the index of the partition to read, `time` the time of its next record, and `until` the time up to which
    to read.
    """

    number: int
    time: int
    until: float


def next_step(partitions: Sequence[PartitionHead]) -> MergeStep | None:
    """Return the next step of the merge, or None if no records are fetched.

    The step reads from the partition whose next record is the earliest. If several records have the same time, the
    partition with the lowest rank comes first. The step ends where another partition has the next record.

    A partition without fetched records may also have the next record, but only from its `read_to` on. The step
    therefore reads no further than that time.
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
    """Rule for where a batch ends.

    A batch has at most `limit` records. Simultaneous events should be in the same batch. A batch with room for at most
    `spare` further records therefore ends at the next gap in time.
    """

    def __init__(self, limit: int | None, spare: int) -> None:
        self._limit = limit
        self._spare = spare
        self._last: int | None = None
        self.taken = 0

    def room(self, step: MergeStep) -> int | None:
        """Return the maximum number of records to read in `step`.

        The result is 0 if the batch has ended, and None if it has no limit.
        """
        if self._limit is None:
            return None
        before_gap = self._limit - self._spare - self.taken
        if before_gap > 0:
            return before_gap
        if self._last is None or step.time - self._last < GAP_MS:
            return min(1, self._limit - self.taken)
        return 0

    def took(self, records: int, last: int) -> None:
        """Record that `records` records were read, the last of them with the time `last`."""
        self.taken += records
        self._last = last


class HoldDeadlines:
    """Deadlines of held records.

    Records are held while another partition may have earlier ones that are not fetched yet. A wait ends after
    `HOLD_SECONDS`, and starts afresh whenever the other partition's position advances.
    """

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[int | None, float]] = {}

    def missing(self, partitions: Mapping[Hashable, PartitionHead], first: PartitionHead, now: float) -> float | None:
        """Return how long the next record of `first` must still wait for other partitions.

        Returns:
            The remaining time in seconds, or None if the record need not wait.
        """
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
