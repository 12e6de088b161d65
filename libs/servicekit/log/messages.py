"""Records to write, the port that writes them, and the positions of written records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from contracts.base import Envelope
from contracts.headers import REVISION, Headers
from contracts.topics import Topic


@dataclass(frozen=True, slots=True)
class Message:
    """A record to write. If `partition` is None, the key's murmur2 hash selects it. The `value` None is a tombstone."""

    topic: str
    key: str | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None

    @classmethod
    def of(cls, topic: Topic, event: Envelope, headers: Headers = ()) -> Self:
        """Return the record of `event` on its `topic`."""
        return cls(topic.name, topic.key(event), event.model_dump_json(by_alias=True).encode(), headers)

    @classmethod
    def tombstone(cls, topic: str, key: str, revision: int, headers: Headers, partition: int) -> Self:
        """Return the record that deletes all revisions of the object `key` up to `revision`."""
        return cls(topic, key, None, [*headers, (REVISION, str(revision).encode())], partition)

    @property
    def size(self) -> int:
        """Maximum size that the record can have in the log, in bytes."""
        size = len(self.key or "") * 4 + len(self.value or b"") + 256
        for name, value in self.headers:
            size += len(name) + len(value or b"")  # values of foreign headers may be null
        return size


@dataclass(frozen=True, slots=True)
class Written:
    """Position of a written message. `log_time` is the log's time in microseconds, None if the log has none."""

    topic: str
    partition: int
    offset: int
    log_time: int | None = None


class Producer(Protocol):
    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        """Write all messages and wait until the log has acknowledged them, in order within each partition.

        Return the position of each message. Raises MessageSizeTooLargeError if one is too large; then nothing is
        written. Raises LogUnavailable if the log did not acknowledge; then any part may have been written.
        """
        ...


def bytes_of(messages: Iterable[Message]) -> int:
    """Return the approximate size of the messages in the log, in bytes."""
    return sum(message.size for message in messages)
