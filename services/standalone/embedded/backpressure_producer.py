"""Producer for the in-process log, which writes large batches in chunks as consumers make room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aiokafka.errors import MessageSizeTooLargeError

from contracts.topics import BY_NAME
from servicekit.log.records import Message, Producer, Written
from servicekit.log.settings import MESSAGE_LIMIT
from standalone.embedded.backpressure import PIECE_BYTES, Backpressure, LogPartition


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
            is_read = bool(self._backpressure.readers(message.topic))
            fits = used + size <= PIECE_BYTES or not used
            if partition in full or not fits or (is_read and not self._admits(partition, used, size)):
                full.add(partition)
                rest.append((index, message))
                continue
            sizes[partition] = used + size
            piece.append((index, message))
        return piece, sizes, rest

    def _admits(self, partition: LogPartition, used: int, size: int) -> bool:
        return self._backpressure.admits(partition, used + size)

    async def _write(self, messages: Sequence[Message], sizes: Mapping[LogPartition, int]) -> Sequence[Written]:
        read_sizes = {partition: size for partition, size in sizes.items() if self._backpressure.readers(partition[0])}
        for partition, size in read_sizes.items():
            self._backpressure.expect(partition, size)
        try:
            written = await self._producer.send(messages)
        except BaseException:
            for partition, size in read_sizes.items():
                self._backpressure.abandon(partition, size)
            raise
        ends: defaultdict[LogPartition, int] = defaultdict(int)
        for record in written:
            partition = (record.topic, record.partition)
            ends[partition] = max(ends[partition], record.offset + 1)
        for partition, size in sizes.items():
            if partition in read_sizes:
                self._backpressure.wrote(partition, size, ends[partition])
            else:
                self._backpressure.wrote_unread(partition, size)
        return written


def _placed(message: Message) -> Message:
    topic = BY_NAME.get(message.topic)
    return replace(message, partition=message.partition_among(topic.partitions) if topic else 0)


def _partition_of(message: Message) -> LogPartition:
    assert message.partition is not None
    return message.topic, message.partition
