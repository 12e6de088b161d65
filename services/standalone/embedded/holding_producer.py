"""A producer for the in-process log that writes in pieces, as the readers free space."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aiokafka.errors import MessageSizeTooLargeError

from contracts.ids import partition_of
from contracts.topics import BY_NAME
from servicekit.log.messages import Message, Producer, Written
from servicekit.log.settings import MESSAGE_LIMIT
from standalone.embedded.holdback import PIECE_BYTES, Holdback, Lane


class HoldingProducer:
    """Producer that writes a piece once its partition has room. Keeps the order within each partition."""

    def __init__(self, producer: Producer, holdback: Holdback) -> None:
        self._producer = producer
        self._holdback = holdback

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        """See `Producer.send`. Also raises LogUnavailable if the readers stop before there is room."""
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
                await self._holdback.moved()
        return [places[index] for index in range(len(messages))]

    def _next_piece(
        self, waiting: Sequence[tuple[int, Message]]
    ) -> tuple[list[tuple[int, Message]], dict[Lane, int], list[tuple[int, Message]]]:
        """Split the messages into those that can be written now, their bytes by partition, and the rest."""
        piece, rest = list[tuple[int, Message]](), list[tuple[int, Message]]()
        sizes, full = dict[Lane, int](), set[Lane]()
        for index, message in waiting:
            lane, size = _lane(message), message.size
            taken = sizes.get(lane, 0)
            held = bool(self._holdback.readers(message.topic))
            fits = taken + size <= PIECE_BYTES or not taken
            if lane in full or not fits or (held and not self._admits(lane, taken, size)):
                full.add(lane)
                rest.append((index, message))
                continue
            sizes[lane] = taken + size
            piece.append((index, message))
        return piece, sizes, rest

    def _admits(self, lane: Lane, taken: int, size: int) -> bool:
        return self._holdback.admits(lane, taken + size)

    async def _write(self, messages: Sequence[Message], sizes: Mapping[Lane, int]) -> list[Written]:
        held = {lane: size for lane, size in sizes.items() if self._holdback.readers(lane[0])}
        for lane, size in held.items():
            self._holdback.expect(lane, size)
        try:
            written = await self._producer.send(messages)
        except BaseException:
            for lane, size in held.items():
                self._holdback.abandon(lane, size)
            raise
        ends: defaultdict[Lane, int] = defaultdict(int)
        for place in written:
            lane = (place.topic, place.partition)
            ends[lane] = max(ends[lane], place.offset + 1)
        for lane, size in sizes.items():
            if lane in held:
                self._holdback.wrote(lane, size, ends[lane])
            else:
                self._holdback.wrote_unread(lane, size)
        return written


def _placed(message: Message) -> Message:
    """Return the message with its partition from the topic table, which also defines the in-process log's topics."""
    if message.partition is not None:
        return message
    topic = BY_NAME.get(message.topic)
    return replace(message, partition=partition_of(message.key or "", topic.partitions) if topic else 0)


def _lane(message: Message) -> Lane:
    assert message.partition is not None
    return message.topic, message.partition
