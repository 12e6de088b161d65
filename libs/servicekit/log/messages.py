"""Records to write, their positions once written, and the port that writes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.ids import partition_of
from contracts.topics import BY_NAME
from servicekit.log.records import Headers


@dataclass(frozen=True, slots=True)
class Message:
    """One record to write. `partition` None means: by the key's murmur2. A `value` of None is a tombstone."""

    topic: str
    key: str | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None

    @property
    def size(self) -> int:
        size = len(self.key or "") * 4 + len(self.value or b"") + 256
        for name, value in self.headers:
            size += len(name) + len(value or b"")  # foreign ones may be null
        return size


@dataclass(frozen=True, slots=True)
class Written:
    """Position of a written message. `log_time` is the log's time in microseconds, None if the log has none."""

    topic: str
    partition: int
    offset: int
    log_time: int | None = None


class Producer(Protocol):
    async def send(self, messages: Sequence[Message]) -> list[Written]:
        """Write all messages and wait until the log has acknowledged them, in order within each partition.

        Gives each message's place. Raises MessageSizeTooLargeError where one is too large (nothing is written then),
        LogUnavailable where the log could not be reached: then any part may have been written.
        """
        ...


def fixed_partition(topic: str, key: str) -> int:
    """The partition of `key` by the count in the topic table, whatever the cluster says."""
    return partition_of(key, BY_NAME[topic].partitions)


def bytes_of(messages: Iterable[Message]) -> int:
    """About how many bytes the messages take in the log."""
    return sum(message.size for message in messages)
