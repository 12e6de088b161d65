"""Backpressure of the in-process log: a limit on the bytes that are written but not yet consumed.

The in-process log keeps about 5 MiB and 100,000 record batches per partition, and silently drops its oldest records.
`BackpressureProducer` therefore waits until the slowest consumer group has committed enough.

Topics that no group of this process reads (dead letters, sessions) have no backpressure, because nothing would ever
free their space. Their partitions keep the newest 5 MiB. `Backpressure` warns once per partition when records are
dropped.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from aiokafka.errors import MessageSizeTooLargeError

from contracts.topics import BY_NAME, Consumer
from servicekit.errors import LogUnavailable
from servicekit.log.records import Message, Producer, Written
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.logging import logger

INSIDE_BYTES = 3 * 1024 * 1024
"""Maximum unconsumed bytes per partition for writes by the services' own process."""
OUTSIDE_BYTES = 1024 * 1024
"""Maximum unconsumed bytes per partition for writes by another process. Together with INSIDE_BYTES, this is 4 MiB."""
MOST_BATCHES = 50_000
"""Maximum number of unconsumed record batches per partition."""
PIECE_BYTES = 256 * 1024
"""Maximum size of a chunk in bytes. A chunk is written to a partition, and consumed, as one record batch."""
KEPT_BYTES = 5 * 1024 * 1024

LogPartition = tuple[str, int]
"""Topic name and partition."""

log = logger("backpressure")


@dataclass(slots=True)
class _Account:
    """Byte counts of a partition.

    Attributes:
        pieces: Unconsumed writes as (next offset, bytes).
        standing: Total size of the unconsumed writes.
        coming: Size of the writes in progress.
        unread: Total size of the writes, if no group reads the topic.
        committed: Committed offset of each consumer group.
    """

    pieces: deque[tuple[int, int]] = field(default_factory=deque)
    standing: int = 0
    coming: int = 0
    unread: int = 0
    committed: dict[Consumer, int] = field(default_factory=dict)

    @property
    def unconsumed(self) -> int:
        return self.standing + self.coming


class Backpressure:
    """Limit on the unconsumed bytes of each partition.

    The byte counts may be too high, but are never too low.
    """

    def __init__(self, limit: int = INSIDE_BYTES) -> None:
        self._limit = limit
        self._groups: frozenset[Consumer] = frozenset()
        self._accounts: defaultdict[LogPartition, _Account] = defaultdict(_Account)
        self._moved = asyncio.Event()
        self._closed = False
        self._stopped = False

    def follow(self, groups: Collection[Consumer]) -> None:
        """Set the consumer groups that must consume records before their bytes are freed.

        Call this before any write. Each group must commit every record that it receives.
        """
        self._groups = frozenset(groups)

    def readers(self, topic: str) -> frozenset[Consumer]:
        """Return the followed consumer groups that read `topic`."""
        declared = BY_NAME.get(topic)
        return self._groups.intersection(declared.consumers) if declared else frozenset()

    def room(self, size: int) -> bool:
        """Return True if every partition has room for `size` more bytes. Always returns False after `close`.

        A size above half the limit counts as half the limit, because such a write is spread over partitions or split
        into chunks.
        """
        return not self._closed and self.fullest + min(size, self._limit // 2) <= self._limit

    @property
    def fullest(self) -> int:
        """The number of unconsumed bytes in the fullest partition."""
        return max((account.unconsumed for account in self._accounts.values()), default=0)

    def admits(self, partition: LogPartition, size: int) -> bool:
        """Return True if `size` more bytes may be written to `partition`.

        A partition without unconsumed bytes accepts any size.
        """
        account = self._accounts[partition]
        if not account.unconsumed:
            return True
        return account.unconsumed + size <= self._limit and len(account.pieces) < MOST_BATCHES

    def expect(self, partition: LogPartition, size: int) -> None:
        """Count `size` bytes that are about to be written."""
        self._accounts[partition].coming += size

    def abandon(self, partition: LogPartition, size: int) -> None:
        """Undo `expect` for a write that was not acknowledged."""
        self._accounts[partition].coming -= size
        self._move()

    def wrote(self, partition: LogPartition, size: int, next_offset: int) -> None:
        """Record that a write of `size` bytes was acknowledged. `expect` must have been called before the write.

        `next_offset` is the offset after the last written record.
        """
        account = self._accounts[partition]
        account.coming -= size
        if self.readers(partition[0]):
            account.standing += size
            account.pieces.append((next_offset, size))
            self._settle(partition, account)
        else:
            account.unread += size
            if account.unread - size <= KEPT_BYTES < account.unread:
                log.warning("oldest_dropped", topic=partition[0], kept_bytes=KEPT_BYTES)
        self._move()

    def committed(self, group: Consumer, offsets: Mapping[LogPartition, int]) -> None:
        """Record the offsets that `group` has committed."""
        for (topic, partition), offset in offsets.items():
            account = self._accounts[topic, partition]
            account.committed[group] = max(offset, account.committed.get(group, 0))
            self._settle((topic, partition), account)
        self._move()

    async def unread(self, group: Consumer, seconds: float) -> None:
        """Wait until this process has written records that `group` has not committed, for at most `seconds`.

        A fetch from the in-process log waits for its full timeout, even if records arrive meanwhile.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._has_unread(group):
                    await self._moved.wait()

    def _has_unread(self, group: Consumer) -> bool:
        return any(
            account.pieces and account.pieces[-1][0] > account.committed.get(group, 0)
            for (topic, _), account in self._accounts.items()
            if group in self.readers(topic)
        )

    async def moved(self) -> None:
        """Wait until records are written or consumed, or a write fails.

        Raises:
            LogUnavailable: `stop` was called.
        """
        if self._stopped:
            raise LogUnavailable("it is full and its readers have stopped")
        moved = self._moved
        await moved.wait()

    def close(self) -> None:
        """Make `room` return False, so that no new work starts. Work in progress may still write."""
        self._closed = True

    def stop(self) -> None:
        """Make all waiting writers fail with LogUnavailable, because the consumers have stopped."""
        self._closed = self._stopped = True
        self._move()

    def _settle(self, partition: LogPartition, account: _Account) -> None:
        read_to = min((account.committed.get(group, 0) for group in self.readers(partition[0])), default=0)
        while account.pieces and account.pieces[0][0] <= read_to:
            account.standing -= account.pieces.popleft()[1]

    def _move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class BackpressureProducer:
    """Producer that writes each message as soon as its partition has room, keeping the order within a partition."""

    def __init__(self, producer: Producer, backpressure: Backpressure) -> None:
        self._producer = producer
        self._backpressure = backpressure

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        """Send messages like `Producer.send`, waiting until there is room for them.

        Raises:
            MessageSizeTooLargeError: A message exceeds the size limit. Nothing is sent.
            LogUnavailable: The log does not respond, or the consumers stop before there is room.
        """
        if any(message.size > MESSAGE_LIMIT for message in messages):
            raise MessageSizeTooLargeError("a record exceeds the topic's size limit")
        waiting = list(enumerate(map(_placed, messages)))
        places: dict[int, Written] = {}
        while waiting:
            piece, sizes, waiting = self._next_piece(waiting)
            if piece:
                written = await self._write([message for _, message in piece], sizes)
                places.update(zip((index for index, _ in piece), written, strict=True))
            else:
                await self._backpressure.moved()
        return [places[index] for index in range(len(messages))]

    def _next_piece(
        self, waiting: Sequence[tuple[int, Message]]
    ) -> tuple[list[tuple[int, Message]], dict[LogPartition, int], list[tuple[int, Message]]]:
        """Split the messages into those that can be written now and the rest.

        Returns:
            The messages to write, their total size in bytes by partition, and the remaining messages.
        """
        piece, rest = list[tuple[int, Message]](), list[tuple[int, Message]]()
        sizes, full = dict[LogPartition, int](), set[LogPartition]()
        for index, message in waiting:
            partition, size = _partition_of(message), message.size
            used = sizes.get(partition, 0)
            fits = used + size <= PIECE_BYTES or not used
            if partition in full or not fits or not self._admits(partition, used + size):
                full.add(partition)
                rest.append((index, message))
                continue
            sizes[partition] = used + size
            piece.append((index, message))
        return piece, sizes, rest

    def _admits(self, partition: LogPartition, size: int) -> bool:
        return not self._backpressure.readers(partition[0]) or self._backpressure.admits(partition, size)

    async def _write(self, messages: Sequence[Message], sizes: Mapping[LogPartition, int]) -> Sequence[Written]:
        for partition, size in sizes.items():
            self._backpressure.expect(partition, size)
        try:
            written = await self._producer.send(messages)
        except BaseException:
            for partition, size in sizes.items():
                self._backpressure.abandon(partition, size)
            raise
        ends = {(record.topic, record.partition): record.offset + 1 for record in written}
        for partition, size in sizes.items():
            self._backpressure.wrote(partition, size, ends[partition])
        return written


def _placed(message: Message) -> Message:
    topic = BY_NAME.get(message.topic)
    return replace(message, partition=message.partition_among(topic.partitions) if topic else 0)


def _partition_of(message: Message) -> LogPartition:
    assert message.partition is not None
    return message.topic, message.partition
