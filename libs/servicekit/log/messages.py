"""Records to write to the log, the producer interface, and the positions of written records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from contracts.base import Envelope
from contracts.headers import REVISION, Headers
from contracts.topics import Topic


@dataclass(frozen=True, slots=True)
class Message:
    """Record to write to the log; a tombstone if `value` is None.

    If `partition` is None, the partition is chosen by the murmur2 hash of the key.
    """

    topic: str
    key: str | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None

    @classmethod
    def of(cls, topic: Topic, event: Envelope, headers: Headers = ()) -> Self:
        """Return the record that writes `event` to `topic`."""
        return cls(topic.name, topic.key(event), event.model_dump_json(by_alias=True).encode(), headers)

    @classmethod
    def tombstone(cls, topic: str, key: str, revision: int, headers: Headers, partition: int) -> Self:
        """Return the tombstone that deletes all revisions of the object `key` up to `revision`."""
        return cls(topic, key, None, [*headers, (REVISION, str(revision).encode())], partition)

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

    `log_time` is in microseconds, or None if the log does not set timestamps.
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
    """Return the approximate total size of the records in the log, in bytes."""
    return sum(message.size for message in messages)
