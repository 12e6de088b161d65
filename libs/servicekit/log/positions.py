"""Next expected offset of each partition, to detect records that were deleted before a group read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from aiokafka import TopicPartition

from servicekit.log.records import RawRecord


class Span(NamedTuple):
    """Range of a partition's offsets in a batch: the first offset, and the offset after the last record."""

    first: int
    next: int


def spans_of(records: Iterable[RawRecord]) -> dict[TopicPartition, Span]:
    """Return the range of offsets of each partition in `records`.

    The records of a partition must be in order.
    """
    firsts: dict[tuple[str, int], int] = {}
    lasts: dict[tuple[str, int], int] = {}
    for raw in records:
        topic, partition, offset = raw.coordinates
        lane = (topic, partition)
        if lane not in lasts:
            firsts[lane] = offset
        lasts[lane] = offset
    return {TopicPartition(*lane): Span(first, lasts[lane] + 1) for lane, first in firsts.items()}


class Positions:
    """Next expected offset of each partition.

    `lost` is the number of records by topic that were deleted before they were read.
    """

    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}
        self.lost: Counter[str] = Counter()

    def forget(self) -> None:
        """Discard all expected offsets after a reassignment of the partitions."""
        self._next.clear()

    def unknown(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions without an expected offset."""
        return [partition for partition in partitions if partition not in self._next]

    def expect(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the next expected offset of each partition in `offsets`."""
        self._next.update(offsets)

    def again(self, partition: TopicPartition, offset: int) -> None:
        """Move the partition's next expected offset back to `offset`, from which records will be read again.

        If records are missing before `offset`, they are then looked for again, because the earlier check may have
        failed.
        """
        if offset < self._next.get(partition, offset):
            self._next[partition] = offset

    def skipped(self, spans: Mapping[TopicPartition, Span]) -> list[TopicPartition]:
        """Return the partitions whose first offset is later than expected.

        This alone does not prove a loss, because compaction and transaction markers also leave gaps in the offsets.
        """
        return [partition for partition, span in spans.items() if span.first > self._next.get(partition, span.first)]

    def begins(self, partition: TopicPartition, offset: int) -> int:
        """Note the first offset that the partition still has, and return how many records were deleted unread."""
        lost = max(0, offset - self._next.get(partition, offset))
        if lost:
            self._next[partition] = offset
            self.lost[partition.topic] += lost
        return lost
