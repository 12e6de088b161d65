"""Records to write to the log, the producer interface, and the positions of written records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from contracts.base import Envelope
from contracts.headers import REVISION, Headers
from contracts.ids import partition_of
from contracts.topics import Topic


@dataclass(frozen=True, slots=True)
class Message:
    """Record to write to the log; a tombstone if `value` is None.

    If `partition` is None, the murmur2 hash of `placed_by` selects the partition. If `placed_by` is also None, the hash
    of the key selects it. A record with `in_all_partitions` is also written to all other partitions of its topic.
    """

    topic: str
    key: str | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    placed_by: str | None = None
    in_all_partitions: bool = False

    @classmethod
    def of(cls, topic: Topic, event: Envelope, headers: Headers = ()) -> Self:
        """Return the record of `event` for `topic`. Its key selects the partition."""
        return cls(topic.name, topic.key(event), event.model_dump_json(by_alias=True).encode(), headers)

    @classmethod
    def tombstone(cls, topic: str, key: str, revision: int, headers: Headers, placed_by: str) -> Self:
        """Return the tombstone that deletes all revisions of the object `key` up to `revision`.

        It is written to all partitions, because earlier revisions may have been written before partitions were added.
        """
        headers = [*headers, (REVISION, str(revision).encode())]
        return cls(topic, key, None, headers, placed_by=placed_by, in_all_partitions=True)

    def partition_among(self, partitions: int) -> int:
        """Return the record's partition in a topic with this number of partitions."""
        if self.partition is not None:
            return self.partition
        return partition_of(self.placed_by or self.key or "", partitions)

    @property
    def size(self) -> int:
        """Upper bound of the record's size in the log, in bytes."""
        size = len(self.key or "") * 4 + len(self.value or b"") + 256
        for name, value in self.headers:
            size += len(name) + len(value or b"")  # values of foreign headers may be null
        return size


@dataclass(frozen=True, slots=True)
class Written:
    """Position of a written record in the log.

    `log_time` is the time that the log assigned, in microseconds. It is None if the log does not set timestamps.
    """

    topic: str
    partition: int
    offset: int
    log_time: int | None = None


class Producer(Protocol):
    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        """Write all records, in order within each partition, and wait until the log acknowledges them.

        Returns:
            The position of each record.

        Raises:
            MessageSizeTooLargeError: If a record is too large. No record is written.
            LogUnavailable: If the log does not acknowledge the write. Some or all records may have been written.
        """
        ...


def bytes_of(messages: Iterable[Message]) -> int:
    """Return an upper bound of the total size of the records in the log, in bytes."""
    return sum(message.size for message in messages)
