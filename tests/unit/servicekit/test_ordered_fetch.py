"""A consumer of related topics gets a message before, or together with, the events about it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiokafka.consumer.consumer as consumer_module
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.consumer.fetcher import READ_UNCOMMITTED, Fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, IN_LOG_ORDER
from servicekit.log.bounded_fetch import POLL_BYTES, BoundedRecords, BoundedResult, bound_fetching
from servicekit.log.log_order import HOLD_SECONDS
from servicekit.log.ordered_fetch import OrderedFetcher, order_fetching
from standalone.embedded.memory_broker import MemoryBroker

MESSAGES, REPLIES = TopicPartition(CHAT_MESSAGE.name, 0), TopicPartition(CHAT_REPLY.name, 0)
FIRST_MS = 1_700_000_000_000
SECOND_MS = 1_000


@asynccontextmanager
async def reading(*lanes: TopicPartition) -> AsyncIterator[tuple[Producer, Reader]]:
    order_fetching()
    bound_fetching()
    with MemoryBroker({lane.topic: 1 for lane in lanes}) as broker:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap)
        reader = AIOKafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
        )
        async with producer, reader:
            reader.assign(lanes)
            yield Producer(producer), Reader(reader)


class Producer:
    """Producer of records at given seconds of the log."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer

    async def write(self, lane: TopicPartition, seconds: Sequence[int], size: int = 10) -> None:
        """Write one batch of records whose values begin with their second. The in-process log fetches by batches."""
        batch = self._producer.create_batch()
        for second in seconds:
            value = str(second).encode().ljust(size)
            batch.append(key=None, value=value, timestamp=FIRST_MS + second * SECOND_MS)
        await (await self._producer.send_batch(batch, lane.topic, partition=0))


class Reader:
    """Consumer whose batches are recorded as (topic, second)."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer
        self.batches: list[list[tuple[str, int]]] = []

    async def read(self, number: int, max_records: int = 1_000) -> None:
        """Read batches until there are `number` records."""
        while sum(map(len, self.batches)) < number:
            found = await self.consumer.getmany(timeout_ms=10_000, max_records=max_records)
            if batch := [_second(record) for some in found.values() for record in some]:
                self.batches.append(batch)

    def overtaking(self) -> list[int]:
        """Return the seconds of events that were returned in a batch before their message's."""
        seen: set[int] = set()
        found = []
        for batch in self.batches:
            seen |= {second for topic, second in batch if topic == MESSAGES.topic}
            found += [second for topic, second in batch if topic != MESSAGES.topic and second not in seen]
        return found


def _second(record: ConsumerRecord) -> tuple[str, int]:
    return record.topic, int(record.value)


async def test_replies_to_a_backlog_of_messages_do_not_overtake_them() -> None:
    async with reading(MESSAGES, REPLIES) as (producer, reader):
        for first in range(0, 200, 15):
            await producer.write(MESSAGES, range(200)[first : first + 15], 100)
        await producer.write(REPLIES, range(200))
        await reader.read(400, max_records=30)
    assert reader.overtaking() == []
    for topic in (MESSAGES.topic, REPLIES.topic):
        seconds = [second for batch in reader.batches for name, second in batch if name == topic]
        assert seconds == list(range(200)), "each record once, in order"


async def test_a_small_topic_alone_is_read_at_once() -> None:
    async with reading(MESSAGES, REPLIES) as (producer, reader):
        await producer.write(REPLIES, range(3))
        await reader.read(3)
    assert reader.batches[0][0] == (REPLIES.topic, 0)


class Partition:
    """State of a partition for aiokafka's fetcher."""

    def __init__(self, position: int = 0, highwater: int = 0, fetched_at: int = FIRST_MS + 1_000_000) -> None:
        self.active, self.paused, self.has_valid_position = True, False, True
        self.position, self.highwater, self.timestamp = position, highwater, fetched_at

    def state_value(self, _: TopicPartition) -> Partition:
        return self

    def consumed_to(self, offset: int) -> None:
        self.position = offset


class Buffers(OrderedFetcher):
    """Fetcher with the given buffers, and a clock that tests set."""

    def __init__(self, states: Mapping[TopicPartition, Partition]) -> None:
        self.prepare_order()
        self.now = 100.0
        self._monotonic = lambda: self.now
        self._wait_consume_future = None
        self._records = {}
        self._states = states
        assignment = SimpleNamespace(state_value=states.get)
        self._subscriptions = SimpleNamespace(
            reassignment_in_progress=False, subscription=SimpleNamespace(assignment=assignment)
        )

    def fetched(self, lane: TopicPartition, *seconds: int, size: int = 1) -> BoundedResult:
        """Add records of a partition to its buffer, with values of at least `size` bytes."""
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, (1 << 20) + len(seconds) * size)
        for offset, second in enumerate(seconds):
            value = b"%d" % second
            at = FIRST_MS + second * SECOND_MS
            builder.append(offset, timestamp=at, key=None, value=value.ljust(size), headers=[])
        records = MemoryRecords(bytes(builder.build()))
        read = BoundedRecords(lane, records, [], self._states[lane].position, None, None, True, READ_UNCOMMITTED)
        result = BoundedResult(lane, assignment=self._states[lane], partition_records=read, backoff=1_000)
        self._records[lane] = result
        return result

    async def poll(self, limit: int = 1_000) -> list[tuple[str, int]]:
        found = await self.fetched_records([], 0, limit)
        return [_second(record) for some in found.values() for record in some]

    def _notify(self, _: object) -> None:
        """Do nothing, because nothing is fetched."""


async def test_a_reply_waits_for_messages_that_are_not_fetched_for_a_bounded_time() -> None:
    buffers = Buffers({MESSAGES: Partition(highwater=5), REPLIES: Partition(highwater=1)})
    result = buffers.fetched(REPLIES, 7)
    assert await buffers.poll() == []
    assert result.calculate_backoff() == 0, "delays no fetch"
    buffers.now += HOLD_SECONDS
    assert await buffers.poll() == [(REPLIES.topic, 7)]
    buffers.fetched(REPLIES, 7, 8)
    assert await buffers.poll() == [(REPLIES.topic, 8)], "waits once for the same messages"


async def test_a_reply_that_waits_is_returned_with_its_message() -> None:
    buffers = Buffers({MESSAGES: Partition(highwater=2), REPLIES: Partition(highwater=1)})
    buffers.fetched(REPLIES, 1)
    assert await buffers.poll() == []
    buffers.fetched(MESSAGES, 0, 1)
    assert await buffers.poll() == [(MESSAGES.topic, 0), (MESSAGES.topic, 1), (REPLIES.topic, 1)]


async def test_a_batch_is_cut_at_the_same_time_on_every_topic() -> None:
    buffers = Buffers({MESSAGES: Partition(highwater=3), REPLIES: Partition(highwater=3)})
    buffers.fetched(REPLIES, 0, 10, 20)
    buffers.fetched(MESSAGES, 0, 10, 20)
    batches = [await buffers.poll(2) for _ in range(3)]
    assert batches == [[(MESSAGES.topic, second), (REPLIES.topic, second)] for second in (0, 10, 20)]


async def test_a_batch_takes_a_bounded_number_of_bytes_from_each_topic() -> None:
    """The topics are read in turns, so the bound holds for all turns of a topic together."""
    buffers = Buffers({MESSAGES: Partition(highwater=4), REPLIES: Partition(highwater=4)})
    for lane in (MESSAGES, REPLIES):
        buffers.fetched(lane, 0, 1, 2, 3, size=POLL_BYTES // 2)
    batches = [sorted(await buffers.poll(), key=lambda one: (one[1], one[0] != MESSAGES.topic)) for _ in range(4)]
    messages, replies = ([(lane.topic, second) for second in range(4)] for lane in (MESSAGES, REPLIES))
    assert batches == [
        [messages[0], replies[0], messages[1]],
        [replies[1], messages[2], replies[2]],
        [messages[3], replies[3]],
        [],
    ]


async def test_only_partitions_of_one_number_wait_for_each_other() -> None:
    elsewhere = TopicPartition(REPLIES.topic, 1)
    buffers = Buffers({MESSAGES: Partition(highwater=5), elsewhere: Partition(highwater=1)})
    buffers.fetched(elsewhere, 7)
    assert await buffers.poll() == [(REPLIES.topic, 7)]


async def test_a_record_of_the_future_does_not_hold_others_back() -> None:
    buffers = Buffers({MESSAGES: Partition(highwater=1), REPLIES: Partition(highwater=1)})
    buffers.fetched(MESSAGES, 10**9)
    buffers.fetched(REPLIES, 10**9 + 1)
    assert await buffers.poll() == [(MESSAGES.topic, 10**9), (REPLIES.topic, 10**9 + 1)]


async def test_partitions_take_turns() -> None:
    other = TopicPartition(MESSAGES.topic, 1)
    buffers = Buffers({MESSAGES: Partition(highwater=9), other: Partition(highwater=9)})
    buffers.fetched(MESSAGES, 0, 1, 2)
    buffers.fetched(other, 5, 6, 7)
    assert [(await buffers.poll(1))[0][1] for _ in range(4)] == [0, 5, 1, 6]


def test_the_names_that_are_replaced_are_those_that_aiokafka_uses() -> None:
    order_fetching()
    assert consumer_module.Fetcher is OrderedFetcher
    for name in ("fetched_records", "_proc_fetch_request", "_create_fetch_waiter", "_notify"):
        assert hasattr(Fetcher, name)


def test_the_order_is_that_of_the_topics_that_refer_to_each_other() -> None:
    assert list(IN_LOG_ORDER) == [CHAT_MESSAGE.name, CHAT_REPLY.name, CHAT_REACTION.name]
