"""Next expected offset of each partition, and the number of records deleted before a group read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from aiokafka import TopicPartition

from servicekit.log.records import RawRecord


class Span(NamedTuple):
    """The offsets of a partition's records in a batch: the first one, and the one after the last."""

    first: int
    next: int


def spans_of(records: Iterable[RawRecord]) -> dict[TopicPartition, Span]:
    """The span of each partition in `records`, which come in order within a partition."""
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
    """The next offset expected of each partition. `lost` counts, by topic, records that were gone before their turn."""

    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}
        self.lost: Counter[str] = Counter()

    def forget(self) -> None:
        """Expect nothing: the partitions were dealt out anew."""
        self._next.clear()

    def unknown(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those of `partitions` whose expected offset is not known."""
        return [partition for partition in partitions if partition not in self._next]

    def expect(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the next offset expected of some partitions."""
        self._next.update(offsets)

    def again(self, partition: TopicPartition, offset: int) -> None:
        """Expect `offset` once more. What is missing before it stays missing: perhaps nobody could look yet."""
        if offset < self._next.get(partition, offset):
            self._next[partition] = offset

    def skipped(self, spans: Mapping[TopicPartition, Span]) -> list[TopicPartition]:
        """The partitions that begin later than expected.

        That alone is no loss: compaction and the ends of transactions leave offsets without a record, too.
        """
        return [partition for partition, span in spans.items() if span.first > self._next.get(partition, span.first)]

    def begins(self, partition: TopicPartition, offset: int) -> int:
        """Note that the log begins at `offset`; gives how many records it lost before they were read."""
        lost = max(0, offset - self._next.get(partition, offset))
        if lost:
            self._next[partition] = offset
            self.lost[partition.topic] += lost
        return lost
