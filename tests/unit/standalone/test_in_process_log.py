"""The in-process broker, used with the client library of the services."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, Consumer
from servicekit.errors import LogUnavailable
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message, Producer, Written
from servicekit.log.settings import MESSAGE_LIMIT
from standalone.embedded.backpressure import (
    INSIDE_BYTES,
    OUTSIDE_BYTES,
    PIECE_BYTES,
    Backpressure,
    BackpressureProducer,
)
from standalone.embedded.memory_broker import MemoryBroker
from tests.support.waits import PATIENCE_SECONDS

# In a separate process, because other tests' threads and sockets change. An ended thread may stay in
# /proc for a moment after it was joined, so the test waits for its end.
HELD_AFTER_STOPS = """
import os
from pathlib import Path
from time import monotonic
from standalone.embedded import memory_broker
from standalone.embedded.memory_broker import MemoryBroker

def held():
    return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))

before = held()
for _ in range(5):
    with MemoryBroker({"orders": 1}):
        threads, sockets = held()
        assert threads > before[0] and sockets > before[1], (before, threads, sockets)
deadline = monotonic() + 10
while held() != before and monotonic() < deadline:
    os.sched_yield()
assert held() == before, (before, held())
"""


def test_stop_gives_back_threads_and_sockets() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("counts threads and descriptors in /proc, which this system does not have")

    done = subprocess.run([sys.executable, "-c", HELD_AFTER_STOPS], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


# Backpressure: a log that silently drops records never drops unread ones, and nobody waits for stopped readers.

SLOW_TOPIC = CHAT_REPLY.name


MANY = 12 * 1024 * 1024


VALUE = b"x" * 20_000


class Shelf:
    """Log that accepts everything at once and remembers it."""

    def __init__(self) -> None:
        self.ends: Counter[tuple[str, int]] = Counter()
        self.written: list[Message] = []
        self.batches: list[int] = []
        self.down = False

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        if self.down:
            raise OSError
        places = []
        for message in messages:
            assert message.partition is not None
            lane = (message.topic, message.partition)
            places.append(Written(*lane, self.ends[lane]))
            self.ends[lane] += 1
        self.written += messages
        self.batches.append(len(messages))
        return places


def records(size: int, partition: int = 0, topic: str = SLOW_TOPIC) -> list[Message]:
    return [Message(topic, str(n), VALUE, partition=partition) for n in range(size // len(VALUE))]


def held(limit: int = INSIDE_BYTES) -> tuple[Backpressure, Shelf, BackpressureProducer]:
    backpressure, shelf = Backpressure(limit), Shelf()
    backpressure.follow(["chat_bridge"])
    return backpressure, shelf, BackpressureProducer(shelf, backpressure)


async def settled(task: asyncio.Task[object]) -> bool:
    """Return True if `task` finishes by itself."""
    for _ in range(200):
        await asyncio.sleep(0)
    return task.done()


async def test_writing_stops_short_of_the_limit_and_goes_on_as_the_slowest_group_commits() -> None:
    backpressure, shelf, producer = held()
    backpressure.follow(["chat_bridge", "inference"])
    lane = (CHAT_MESSAGE.name, 0)
    work = asyncio.create_task(producer.send(records(MANY, topic=CHAT_MESSAGE.name)))
    seen = 0
    while not await settled(work):
        assert backpressure.fullest <= INSIDE_BYTES
        assert shelf.ends[lane] > seen
        seen = shelf.ends[lane]
        backpressure.committed("inference", {lane: seen})
        assert not await settled(work), "the slower group has read nothing"
        assert shelf.ends[lane] == seen
        backpressure.committed("chat_bridge", {lane: seen})
    assert [place.offset for place in await work] == list(range(MANY // len(VALUE)))
    assert [message.key for message in shelf.written] == [str(n) for n in range(len(shelf.written))]


def test_a_partition_accepts_no_more_batches_than_the_log_keeps() -> None:
    backpressure, _, _ = held()
    lane = (SLOW_TOPIC, 0)
    for number in range(1, 50_001):
        assert backpressure.admits(lane, 1)
        backpressure.expect(lane, 1)
        backpressure.wrote(lane, 1, number)
    assert not backpressure.admits(lane, 1)
    backpressure.committed("chat_bridge", {lane: 1})
    assert backpressure.admits(lane, 1)


async def test_a_group_waits_until_a_topic_that_it_reads_has_uncommitted_records() -> None:
    backpressure, _, producer = held()
    backpressure.follow(["chat_bridge", "feedback"])
    expected: dict[Consumer, bool] = {"chat_bridge": True, "feedback": False}
    for group, reads in expected.items():
        waiting = asyncio.create_task(backpressure.unread(group, PATIENCE_SECONDS))
        assert not await settled(waiting)
        await producer.send([Message(CHAT_REACTION.name, "c1", VALUE, partition=0)])
        assert await settled(waiting) is reads
        waiting.cancel()
        backpressure.committed("chat_bridge", {(CHAT_REACTION.name, 0): 2})
    await backpressure.unread("chat_bridge", 0.01)  # ends by itself


async def test_a_full_partition_does_not_hold_up_another() -> None:
    _, shelf, producer = held()
    work = asyncio.create_task(producer.send([*records(MANY), *records(INSIDE_BYTES // 2, partition=1)]))
    assert not await settled(work)
    assert shelf.ends[SLOW_TOPIC, 1] == INSIDE_BYTES // 2 // len(VALUE)
    work.cancel()


async def test_what_nobody_reads_is_not_held_back() -> None:
    backpressure, shelf, producer = held()
    await producer.send(records(MANY, topic=CHAT_REPLY.dead_letters))
    assert len(shelf.written) == MANY // len(VALUE)
    assert backpressure.room(1)


async def test_a_failed_write_gives_its_room_back() -> None:
    backpressure, shelf, producer = held()
    shelf.down = True
    with pytest.raises(OSError):
        await producer.send(records(PIECE_BYTES))
    assert backpressure.fullest == 0


async def test_a_record_too_large_is_refused_before_anything_is_written() -> None:
    _, shelf, producer = held()
    with pytest.raises(MessageSizeTooLargeError):
        await producer.send([*records(PIECE_BYTES * 3), Message(SLOW_TOPIC, None, b"x" * MESSAGE_LIMIT)])
    assert not shelf.written


async def test_a_single_record_larger_than_the_limit_passes_when_its_partition_is_empty() -> None:
    _, shelf, producer = held(OUTSIDE_BYTES)
    await producer.send([Message(SLOW_TOPIC, None, b"x" * (OUTSIDE_BYTES + 1))])
    assert len(shelf.written) == 1


async def test_a_lane_read_to_its_last_record_holds_nothing_back() -> None:
    backpressure, shelf, producer = held()
    await producer.send(records(PIECE_BYTES * 2))
    end = shelf.ends[SLOW_TOPIC, 0]
    backpressure.committed("chat_bridge", {(SLOW_TOPIC, 0): end - 1})
    assert 0 < backpressure.fullest <= PIECE_BYTES + len(VALUE), "the last piece is not read to its end"
    backpressure.committed("chat_bridge", {(SLOW_TOPIC, 0): end})
    assert backpressure.fullest == 0


async def test_a_commit_that_goes_back_takes_no_room_away_again() -> None:
    backpressure, shelf, producer = held()
    await producer.send(records(PIECE_BYTES))
    backpressure.committed("chat_bridge", {(SLOW_TOPIC, 0): shelf.ends[SLOW_TOPIC, 0]})
    backpressure.committed("chat_bridge", {(SLOW_TOPIC, 0): 0})
    await producer.send(records(PIECE_BYTES))
    backpressure.committed("chat_bridge", {(SLOW_TOPIC, 0): shelf.ends[SLOW_TOPIC, 0]})
    assert backpressure.fullest == 0


async def test_who_waits_fails_once_the_readers_stop() -> None:
    backpressure, _, producer = held()
    work = asyncio.create_task(producer.send(records(MANY)))
    assert not await settled(work)
    backpressure.stop()
    with pytest.raises(LogUnavailable):
        await work


@pytest.mark.timeout(180)
@pytest.mark.parametrize("holding", [True, False])
async def test_a_slow_reader_of_the_in_process_log_misses_nothing_only_if_held_back(holding: bool) -> None:
    backpressure = Backpressure()
    backpressure.follow(["chat_bridge"])
    count = MANY // len(VALUE)
    with MemoryBroker({SLOW_TOPIC: CHAT_REPLY.partitions}) as broker:
        inner = BatchProducer(broker.bootstrap, client_id="writer")
        producer: Producer = BackpressureProducer(inner, backpressure) if holding else inner
        consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest")
        lane = TopicPartition(SLOW_TOPIC, 0)
        try:
            await consumer.start()
            consumer.assign([lane])
            writing = asyncio.create_task(producer.send(records(MANY)))
            if not holding:
                await writing
            read: list[str] = []
            while len(read) < count:
                found = await consumer.getmany(timeout_ms=2_000, max_records=50)
                if not found and not holding:
                    break
                read += [record.key.decode() for record in found.get(lane, [])]
                backpressure.committed("chat_bridge", {lane: await consumer.position(lane)})
            await writing
        finally:
            await consumer.stop()
            await inner.stop()
    assert (read == [str(n) for n in range(count)]) is holding


async def test_records_of_a_lane_are_written_in_pieces_that_are_as_large_as_allowed() -> None:
    _, shelf, producer = held()
    size = Message(SLOW_TOPIC, "0", VALUE, partition=0).size
    each = PIECE_BYTES // size
    exact = [Message(SLOW_TOPIC, "0", b"x" * (PIECE_BYTES - size + len(VALUE) - (each - 1) * size), partition=0)]
    await producer.send([Message(SLOW_TOPIC, "0", VALUE, partition=0)] * (each - 1) + exact)
    assert shelf.batches == [each], "a piece may be full to its last byte"
    shelf.batches.clear()
    await producer.send([Message(SLOW_TOPIC, "0", VALUE, partition=n % 2) for n in range(2 * (2 * each + 1))])
    assert shelf.batches == [2 * each, 2 * each, 2], "each lane has pieces of its own"


async def test_a_small_record_never_overtakes_a_large_one_of_its_lane() -> None:
    _, shelf, producer = held()
    sizes = {"first": 100_000, "large": 200_000, "small": 1_000}
    await producer.send([Message(SLOW_TOPIC, name, b"x" * size, partition=0) for name, size in sizes.items()])
    assert [message.key for message in shelf.written] == list(sizes)


MIB = 1024 * 1024


@pytest.mark.parametrize(("unconsumed", "size", "is_admitted"), [
    (0, 9 * MIB, True), (2 * MIB, MIB, True), (2 * MIB, MIB + 1, False), (3 * MIB, 1, False),
])  # fmt: skip
def test_a_partition_of_this_process_has_room_for_three_mebibytes(
    unconsumed: int, size: int, is_admitted: bool
) -> None:
    backpressure = Backpressure()
    backpressure.expect((SLOW_TOPIC, 0), unconsumed)
    assert backpressure.admits((SLOW_TOPIC, 0), size) is is_admitted
    assert backpressure.admits((SLOW_TOPIC, 1), size), "another partition has room"


@pytest.mark.parametrize(("unconsumed", "size", "has_room"), [
    (0, 100 * MIB, True), (2 * MIB, MIB, True), (2 * MIB, MIB + 1, False), (MIB + MIB // 2, 100 * MIB, True),
    (MIB + MIB // 2 + 1, 100 * MIB, False),
])  # fmt: skip
def test_work_starts_if_the_fullest_partition_has_room(unconsumed: int, size: int, has_room: bool) -> None:
    backpressure = Backpressure()
    backpressure.expect((SLOW_TOPIC, 0), 10)
    backpressure.expect((SLOW_TOPIC, 1), unconsumed)
    assert backpressure.room(size) is has_room


async def test_records_are_returned_in_the_order_of_the_messages() -> None:
    _, _, producer = held()
    lanes = [0, 1, 0, 2, 1]
    written = await producer.send([Message(SLOW_TOPIC, str(n), b"x", partition=lane) for n, lane in enumerate(lanes)])
    assert [(one.partition, one.offset) for one in written] == [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]


async def test_a_topic_that_this_system_does_not_have_is_written_to_its_first_partition() -> None:
    _, shelf, producer = held()
    await producer.send([Message("orders", "k", b"x")])
    assert [(one.topic, one.partition) for one in shelf.written] == [("orders", 0)]
