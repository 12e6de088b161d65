"""Track each partition's next expected offset, and records that were deleted before a group read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from aiokafka import TopicPartition

from servicekit.log.records import RawRecord


class Span(NamedTuple):
    """Offsets of a partition's records in a batch: the first offset, and the offset after the last record."""

    first: int
    next: int


def spans_of(records: Iterable[RawRecord]) -> dict[TopicPartition, Span]:
    """Return the span of each partition in `records`, which are in order within a partition."""
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

    `lost` is the number of records, by topic, that were deleted before they were read.
    """

    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}
        self.lost: Counter[str] = Counter()

    def forget(self) -> None:
        """Drop all expected offsets, because the partitions were reassigned."""
        self._next.clear()

    def unknown(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions without an expected offset."""
        return [partition for partition in partitions if partition not in self._next]

    def expect(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the next expected offset of some partitions."""
        self._next.update(offsets)

    def again(self, partition: TopicPartition, offset: int) -> None:
        """Expect `offset` again.

        A gap before this offset is checked again, because the earlier check may have failed.
        """
        if offset < self._next.get(partition, offset):
            self._next[partition] = offset

    def skipped(self, spans: Mapping[TopicPartition, Span]) -> list[TopicPartition]:
        """Return the partitions with a first offset that is later than expected.

        That alone does not prove a loss: compaction and transaction markers also leave offsets without a record.
        """
        return [partition for partition, span in spans.items() if span.first > self._next.get(partition, span.first)]

    def begins(self, partition: TopicPartition, offset: int) -> int:
        """Record that the log begins at `offset`, and return the number of records that were deleted unread."""
        lost = max(0, offset - self._next.get(partition, offset))
        if lost:
            self._next[partition] = offset
            self.lost[partition.topic] += lost
        return lost
