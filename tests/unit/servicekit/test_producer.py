"""A batch of any size is written completely and in order; a failed producer is replaced."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError, OutOfOrderSequenceNumber
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record import MemoryRecords

from contracts.chat import ChatMessageIngested
from contracts.headers import CAUSE, TRACEPARENT
from contracts.ids import partition_of
from contracts.topics import CHAT_TOPICS
from servicekit.errors import LogFull, LogUnavailable, Unavailable
from servicekit.log import producer as producing
from servicekit.log.dead_letters import dead_letter
from servicekit.log.fetch import LOG_APPEND_TIME
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message, RawRecord, Received, Written, bytes_of, cause_of
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.web.log_writer import LogWriter
from tests.support.logs import example, raw

TOPIC = "chat.message.ingested"


BATCH = 512 * 1024


Lane = tuple[str, int]


class Broker:
    """Log of the fake clients. `fails` are raised first, one per batch; `starts` one per start."""

    def __init__(self) -> None:
        self.lanes: defaultdict[Lane, list[Any]] = defaultdict(list)
        self.batches: list[int] = []
        self.clients: list[Client] = []
        self.fails: list[BaseException] = []
        self.times: dict[str, Any] = {}
        self.starts: list[Exception] = []
        self.partitions, self.answers = 6, True

    def client(self, **settings: Any) -> Client:
        self.clients.append(Client(self, settings))
        return self.clients[-1]

    def values(self, lane: Lane = (TOPIC, 0)) -> list[bytes | None]:
        return [record.value for record in self.lanes[lane]]


class Client:
    """Fake of the part of aiokafka's producer that BatchProducer uses, with aiokafka's own batches."""

    def __init__(self, broker: Broker, settings: dict[str, Any]) -> None:
        self.broker = broker
        self.settings = settings
        self.stopped = False
        self.client = self
        self.partitions = 6

    async def force_metadata_update(self) -> bool:
        """Learn the current number of partitions, which the client otherwise asks for from time to time."""
        self.partitions = self.broker.partitions
        return self.broker.answers

    async def start(self) -> None:
        if self.broker.starts:
            raise self.broker.starts.pop(0)

    async def stop(self) -> None:
        self.stopped = True

    async def partitions_for(self, topic: str) -> set[int]:
        return set(range(self.partitions))

    def create_batch(self) -> BatchBuilder:
        return BatchBuilder(self.settings["max_batch_size"], 0)

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[Any]:
        acknowledged: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.broker.fails:
            acknowledged.set_exception(self.broker.fails.pop(0))
            return acknowledged
        lane = self.broker.lanes[topic, partition]
        base = len(lane)
        written = bytes(batch._build())
        self.broker.batches.append(len(written))
        records = MemoryRecords(written)
        while (part := records.next_batch()) is not None:
            lane += list(part)
        acknowledged.set_result(type("Metadata", (), {"offset": base, **self.broker.times})())
        return acknowledged


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()
    monkeypatch.setattr(producing, "AIOKafkaProducer", made.client)
    return made


@pytest.fixture
def producer(broker: Broker) -> BatchProducer:
    return BatchProducer("nowhere:1", client_id="test")


def message(number: int, size: int = 10, partition: int | None = 0) -> Message:
    return Message(TOPIC, f"key {number}", f"{number} ".encode().ljust(size, b"."), [("n", b"1")], partition)


@pytest.mark.parametrize("size", [200_000, BATCH // 2, BATCH // 2 - 90, BATCH - 100, BATCH, BATCH + 1, 1_000_000])
async def test_no_message_is_dropped_where_a_batch_is_full(broker: Broker, producer: BatchProducer, size: int) -> None:
    messages = [message(number, size) for number in range(7)]
    written = await producer.send(messages)
    assert broker.values() == [one.value for one in messages]
    assert written == [Written(TOPIC, 0, offset) for offset in range(7)]
    assert len(broker.batches) > 1


async def test_each_message_gets_its_own_place(broker: Broker, producer: BatchProducer) -> None:
    messages = [message(number, 90_000, number % 3) for number in range(40)]
    written = await producer.send(messages)
    for one, place in zip(messages, written, strict=True):
        record = broker.lanes[place.topic, place.partition][place.offset]
        assert (record.value, record.key.decode()) == (one.value, one.key)
        assert place.partition == one.partition
    assert producer.produced == {TOPIC: 40}


@pytest.mark.parametrize(
    ("kind", "milliseconds", "log_time"),
    [
        (LOG_APPEND_TIME, 1_790_000_000_000, 1_790_000_000_000_000),
        (0, 1_790_000_000_000, None),  # the producer's own time
        (None, 1_790_000_000_000, None),
        (LOG_APPEND_TIME, None, None),
        (LOG_APPEND_TIME, 1_234, None),  # librdkafka's in-memory cluster
        (LOG_APPEND_TIME, -1, None),
    ],
)
async def test_only_the_log_s_own_time_is_returned(
    broker: Broker, producer: BatchProducer, kind: int | None, milliseconds: int | None, log_time: int | None
) -> None:
    broker.times = {"timestamp": milliseconds, "timestamp_type": kind}
    assert [one.log_time for one in await producer.send([message(1), message(2)])] == [log_time] * 2


async def test_without_a_partition_the_key_decides(broker: Broker, producer: BatchProducer) -> None:
    messages = [message(number, partition=None) for number in range(30)]
    written = await producer.send(messages)
    assert [place.partition for place in written] == [partition_of(one.key or "", 6) for one in messages]
    assert len({place.partition for place in written}) > 3


async def test_a_record_is_placed_by_another_string_than_its_key(broker: Broker, producer: BatchProducer) -> None:
    [place] = await producer.send([Message(TOPIC, "another", b"", placed_by="acme/p/c1")])
    assert place.partition == partition_of("acme/p/c1", 6) != partition_of("another", 6)


async def test_a_tombstone_is_written_once_to_each_partition(broker: Broker, producer: BatchProducer) -> None:
    before, after = (Message(TOPIC, "key", value, placed_by="acme/p/c1") for value in (b"before", b"after"))
    tombstone = Message.tombstone(TOPIC, "key", 7, [("cause", b"x")], "acme/p/c1")
    places = await producer.send([before, tombstone, after])
    own = partition_of("acme/p/c1", 6)
    assert places == [Written(TOPIC, own, offset) for offset in range(3)]
    assert broker.values((TOPIC, own)) == [b"before", None, b"after"]
    [copied] = {tuple(broker.values((TOPIC, number))) for number in range(6) if number != own}
    assert copied == (None,)
    headers = {tuple(record.headers) for lane in broker.lanes.values() for record in lane if record.value is None}
    assert headers == {(("cause", b"x"), ("revision", b"7"))}


async def test_a_tombstone_reaches_partitions_that_were_just_added(broker: Broker, producer: BatchProducer) -> None:
    await producer.send([message(1)])
    broker.partitions = 24
    await producer.send([Message.tombstone(TOPIC, "key", 7, (), "acme/p/c1")])
    assert {number for _, number in broker.lanes} == set(range(24))


async def test_a_tombstone_is_not_written_while_the_partitions_are_unknown(
    broker: Broker, producer: BatchProducer
) -> None:
    broker.answers = False
    with pytest.raises(LogUnavailable):
        await producer.send([Message.tombstone(TOPIC, "key", 7, (), "acme/p/c1")])
    assert not broker.lanes


@pytest.mark.parametrize(
    "one",
    [
        Message(TOPIC, None, None),
        Message(TOPIC, "🙂" * 200, b""),
        Message(TOPIC, "k", "né".encode() * 1_000),
        Message(TOPIC, "k", b"", [("name" * 100, b"value" * 200), ("none", None)] * 3),  # type: ignore[list-item]
    ],
)
def test_a_size_is_at_least_what_the_record_takes_in_a_batch(one: Message) -> None:
    batch = BatchBuilder(MESSAGE_LIMIT, 0)
    key = None if one.key is None else one.key.encode()
    assert batch.append(key=key, value=one.value, timestamp=1, headers=list(one.headers)) is not None
    assert len(bytes(batch._build())) <= one.size


@pytest.mark.parametrize("failure", [OutOfOrderSequenceNumber(), KafkaConnectionError(), OSError("reset")])
async def test_a_producer_that_failed_is_replaced(broker: Broker, producer: BatchProducer, failure: Exception) -> None:
    """After a failure an idempotent producer may reject all further work, because its sequence is broken."""
    broker.fails = [failure]
    with pytest.raises(LogUnavailable):
        await producer.send([message(1)])
    (failed,) = broker.clients
    assert failed.stopped
    await producer.send([message(1)])
    assert len(broker.clients) == 2
    assert broker.values() == [message(1).value]
    assert producer.produced == {TOPIC: 1}


async def test_a_producer_whose_work_was_cancelled_is_replaced(broker: Broker, producer: BatchProducer) -> None:
    broker.fails = [asyncio.CancelledError()]
    with pytest.raises(asyncio.CancelledError):
        await producer.send([message(1)])
    await producer.send([message(2)])
    assert [client.stopped for client in broker.clients] == [True, False]


async def test_a_failed_start_is_said_and_the_next_send_starts_again(broker: Broker, producer: BatchProducer) -> None:
    broker.starts = [KafkaConnectionError()]
    with pytest.raises(LogUnavailable):
        await producer.send([message(1)])
    assert [client.stopped for client in broker.clients] == [True]
    await producer.send([message(1)])
    assert broker.values() == [message(1).value]


async def test_one_message_too_large_keeps_all_from_being_written(broker: Broker, producer: BatchProducer) -> None:
    with pytest.raises(MessageSizeTooLargeError):
        await producer.send([message(1), message(2, MESSAGE_LIMIT)])
    assert broker.lanes == {}
    await producer.send([message(1)])
    assert len(broker.clients) == 1


async def test_every_replica_acknowledges_and_nothing_is_written_twice(broker: Broker, producer: BatchProducer) -> None:
    await producer.send([message(1)])
    (client,) = broker.clients
    assert (client.settings["acks"], client.settings["enable_idempotence"]) == ("all", True)


# Writes of HTTP requests into the log: what is refused, with which error, and what is written together.

LARGE = 16 * 1024 * 1024


WAITING_LIMIT = 64 * 1024 * 1024


class HeldLog:
    """Producer that acknowledges once `open` is set, with the numbers of the messages as offsets."""

    def __init__(self, *, is_open: bool = True, error: Exception | None = None) -> None:
        self.open = asyncio.Event()
        self.error = error
        self.writes: list[list[Message]] = []
        if is_open:
            self.open.set()

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.writes.append(list(messages))
        await self.open.wait()
        if self.error:
            raise self.error
        return [Written(message.topic, 0, int(message.key or 0), 0) for message in messages]


def written_message(number: int = 0, size: int = 1) -> Message:
    return Message("chat.message.ingested", str(number), b"x" * size)


async def test_each_request_gets_the_positions_of_its_own_messages_in_order() -> None:
    log = HeldLog()
    writer = LogWriter(log)
    requests = [
        [written_message(number) for number in range(start, start + length)]
        for start, length in ((0, 2), (50, 1), (7, 3))
    ]
    found = await asyncio.gather(*map(writer.send, requests))
    assert [[one.offset for one in written] for written in found] == [[0, 1], [50], [7, 8, 9]]


async def test_a_large_request_is_written_in_parts_of_500_and_requests_that_wait_together() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log)
    first = asyncio.create_task(writer.send([written_message(number) for number in range(1_001)]))
    while not log.writes:
        await asyncio.sleep(0)
    others = [asyncio.create_task(writer.send([written_message()])) for _ in range(3)]
    await asyncio.sleep(0)
    log.open.set()
    written = await first
    await asyncio.gather(*others)
    assert [one.offset for one in written] == list(range(1_001))
    assert max(map(len, log.writes)) <= 503 and len(log.writes[0]) == 500
    assert sum(map(len, log.writes)) == 1_004
    assert len(log.writes) <= 4, "requests that arrive during a write share the next one"


async def test_a_log_without_room_is_full_and_nothing_is_written() -> None:
    log = HeldLog()
    asked: list[int] = []

    def full(size: int) -> bool:
        asked.append(size)
        return False

    writer = LogWriter(log, room=full)
    messages = [written_message(size=10), written_message(size=20)]
    with pytest.raises(LogFull):
        await writer.send(messages)
    assert (log.writes, asked) == ([], [bytes_of(messages)])


@pytest.mark.parametrize(("size", "taken"), [(MESSAGE_LIMIT, True), (MESSAGE_LIMIT + 1, False)])
async def test_a_message_as_large_as_a_topic_allows_is_written_and_a_larger_one_refused(size: int, taken: bool) -> None:
    log = HeldLog()
    writer = LogWriter(log)
    fitting = written_message(size=size - written_message(size=0).size)
    assert fitting.size == size
    if taken:
        assert len(await writer.send([fitting])) == 1
    else:
        with pytest.raises(MessageSizeTooLargeError):
            await writer.send([written_message(), fitting])
    assert len(log.writes) == taken


async def test_beyond_64_mib_of_waiting_writes_a_request_is_refused_until_they_are_written() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log, seconds=60)
    piece = MESSAGE_LIMIT - written_message(size=0).size
    fitting = WAITING_LIMIT // MESSAGE_LIMIT
    waiting = [asyncio.create_task(writer.send([written_message(size=piece)])) for _ in range(fitting)]
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many writes"):
        await writer.send([written_message(size=piece)])
    log.open.set()
    await asyncio.gather(*waiting)
    assert len(await writer.send([written_message(size=piece)])) == 1


async def test_a_request_larger_than_what_may_wait_is_written_if_nothing_waits() -> None:
    pieces = [written_message(size=MESSAGE_LIMIT // 2) for _ in range(2 * WAITING_LIMIT // MESSAGE_LIMIT + 2)]
    assert sum(one.size for one in pieces) > WAITING_LIMIT
    assert len(await LogWriter(HeldLog()).send(pieces)) == len(pieces)


@pytest.mark.parametrize("error", [KafkaConnectionError(), OSError("no route"), Unavailable("the log", "closed")])
async def test_a_log_that_fails_is_unavailable_by_the_errors_name(error: Exception) -> None:
    with pytest.raises(Unavailable) as raised:
        await LogWriter(HeldLog(error=error)).send([written_message()])
    assert type(error).__name__ in str(raised.value)
    assert "no route" not in str(raised.value)


async def test_a_write_without_acknowledgement_ends_in_time_goes_on_and_frees_its_bytes() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log, seconds=0.05)
    with pytest.raises(Unavailable, match="TimeoutError"):
        await writer.send([written_message(1)])
    assert writer._waiting_bytes == 0
    log.open.set()
    assert [one.offset for one in await LogWriter(log).send([written_message(5)])] == [5]


# Cause of a derived record: read from our own header, never from a client's.

CLAIMED = "chat.message.ingested:0:1"


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def record(topic: str) -> RawRecord:
    return raw(topic, b"{}", 7, 3, [(CAUSE, CLAIMED.encode()), (TRACEPARENT, TRACE.encode())])


@pytest.mark.parametrize("topic", [topic.name for topic in CHAT_TOPICS])
def test_a_cause_that_a_chat_service_claims_is_not_believed(topic: str) -> None:
    own = f"{topic}:3:7"
    assert cause_of(record(topic)) == own
    event = ChatMessageIngested.model_validate_json(example("chat.message.ingested", "least"))
    assert Received(event, record(topic)).derived_headers == [(CAUSE, own.encode()), (TRACEPARENT, TRACE.encode())]
    letter = dead_letter(record(topic), service="chat_bridge", reason="x", error_class="permanent")
    assert CAUSE not in dict(letter.headers)


def test_a_cause_that_we_wrote_is_handed_on() -> None:
    derived = record("feedback.reply.received")
    assert cause_of(derived) == CLAIMED
    letter = dead_letter(derived, service="feedback", reason="x", error_class="permanent")
    assert dict(letter.headers)[CAUSE] == CLAIMED.encode()


def test_a_derived_record_without_a_cause_is_its_own() -> None:
    assert cause_of(raw("feedback.reply.received", b"{}", 7, 3)) == "feedback.reply.received:3:7"
