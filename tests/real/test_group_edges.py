"""Unusual events of a consumer group on a real Kafka."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import monotonic

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.record.util import calc_crc32c

from contracts.headers import header
from contracts.topics import CHAT_REACTION, CHAT_REPLY, EXPLICIT_RECEIVED, consumed_by
from servicekit.errors import StartError
from servicekit.log.messages import Message, Written
from servicekit.log.producer import BatchProducer
from servicekit.log.reader import records_of
from servicekit.log.subscriber import Subscription
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from standalone.embedded.local_kafka import LocalKafka
from tests.support.group_reading import reading
from tests.support.unit_handlers import NoWork

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]
REACTION = CHAT_REACTION.name
LANE = TopicPartition(REACTION, 0)


@pytest.fixture(scope="module")
async def producer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BatchProducer]:
    folder: Path = tmp_path_factory.mktemp("edges")
    async with LocalKafka(folder / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        producer = BatchProducer(kafka.bootstrap, client_id="agent-feedback-test")
        await producer.start()
        yield producer
        await producer.stop()


class RecordsWritten(BatchProducer):
    """Producer that keeps the dead letters that it writes."""

    def __init__(self, producer: BatchProducer) -> None:
        super().__init__(producer.bootstrap, client_id="agent-feedback-test-letters")
        self.letters: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.letters += messages
        return await super().send(messages)


async def publish(producer: BatchProducer, count: int) -> None:
    """Publish unreadable records, which reach no handler."""
    await producer.send([Message(REACTION, "key", b"no JSON", partition=0) for _ in range(count)])


async def test_a_compressed_batch_of_distinct_garbage_becomes_a_few_letters(producer: BatchProducer) -> None:
    """One letter for each of half a million records would block the partition for minutes. GARBAGE sets their
    number."""
    count, log = int(os.environ.get("GARBAGE", "50000")), RecordsWritten(producer)
    sender = AIOKafkaProducer(bootstrap_servers=producer.bootstrap, compression_type="gzip", max_batch_size=2**25)
    await sender.start()
    batch = sender.create_batch()
    for number in range(count):
        batch.append(key=None, value=b"%x" % number, timestamp=None)
    await (await sender.send_batch(batch, REACTION, partition=0))
    await sender.stop()
    began = monotonic()
    async with reading("chat_bridge", log) as (_, commits):
        await asyncio.wait_for(commits.until(count), 110)
    print(f"{count:,} records: {monotonic() - began:.1f} s, {len(log.letters):,} letters")
    offsets = [range_ for letter in log.letters for range_ in (header(letter.headers, "offsets") or "").split(",")]
    found = {n for one in offsets for n in range(int(one.partition("-")[0]), int(one.rpartition("-")[2]) + 1)}
    assert found == set(range(count)), "each can be found in the log"
    assert len(log.letters) <= 2 * count / 1_000 + 2, "one for a batch and reason"


async def test_records_deleted_beneath_a_stopped_group_are_counted_and_named(producer: BatchProducer) -> None:
    first = await end_of(producer)
    async with reading("chat_bridge", producer) as (_, commits):
        await publish(producer, 30)
        await asyncio.wait_for(commits.until(first + 30), 30)
    await publish(producer, 900)
    admin = AIOKafkaAdminClient(bootstrap_servers=producer.bootstrap)
    await admin.start()
    await admin.delete_records({LANE: RecordsToDelete(before_offset=first + 930)})
    await admin.close()
    await publish(producer, 12)
    async with reading("chat_bridge", producer) as (subscription, commits):
        await asyncio.wait_for(commits.until(first + 942), 30)
        assert subscription.warnings == [
            f"chat_bridge: 900 records of {REACTION} were deleted from the log before they were read"
        ]


async def test_records_that_a_stranger_under_our_name_took_are_counted(producer: BatchProducer) -> None:
    """Its client id looks like ours, and it has left before anybody checks; its commits have no mark."""
    admin = AIOKafkaAdminClient(bootstrap_servers=producer.bootstrap)
    await admin.start()
    async with reading("chat_bridge", producer) as (subscription, commits):
        await publish(producer, 5)
        await asyncio.wait_for(commits.until(await end_of(producer)), 30)
        await subscription.look_for_foreign_members(admin)
        stranger = AIOKafkaConsumer(
            *(topic.name for topic in consumed_by("chat_bridge")),
            bootstrap_servers=producer.bootstrap,
            group_id="chat_bridge",
            client_id="agent-feedback-",  # sorts before ours, so it gets the first partitions
            enable_auto_commit=False,
            partition_assignment_strategy=(RangePartitionAssignor,),
        )
        await stranger.start()
        async with asyncio.timeout(60):
            while LANE not in stranger.assignment():
                await stranger.getmany(timeout_ms=100)
            await publish(producer, 10)
            while await stranger.position(LANE) < await end_of(producer):
                await stranger.getmany(timeout_ms=100)
            await stranger.commit()
            await stranger.stop()
        await subscription.look_for_foreign_members(admin)
        assert subscription.warnings[-1:] == [
            f"chat_bridge: up to 10 records of {REACTION} were passed over by a consumer that is none of ours"
        ]
    await admin.close()


async def end_of(producer: BatchProducer) -> int:
    consumer = AIOKafkaConsumer(bootstrap_servers=producer.bootstrap)
    await consumer.start()
    try:
        return int((await consumer.end_offsets([LANE]))[LANE])
    finally:
        await consumer.stop()


async def test_a_missing_dead_letter_topic_is_refused_at_start(producer: BatchProducer) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=producer.bootstrap)
    await admin.start()
    letters = CHAT_REPLY.dead_letters
    await admin.delete_topics([letters])
    while letters in await admin.list_topics():
        await asyncio.sleep(0)
    await admin.close()
    with pytest.raises(StartError, match=f"The topic {letters} is missing"):
        await ensure_topics(producer.bootstrap, create=False)
    await ensure_topics(producer.bootstrap)


async def test_a_compressed_bomb_costs_little_memory_and_the_record_behind_it_is_taken(producer: BatchProducer) -> None:
    """The batch decompresses from a few kilobytes to 400 MB: 400 records of a megabyte of blanks, sent twice."""
    reply = CHAT_REPLY.name
    for codec in ("zstd", "gzip"):
        assert isinstance(producer.bootstrap, str)
        await send_bomb(producer.bootstrap, reply, codec, records=200)
    await producer.send([Message(reply, "key", b"no JSON", partition=0)])
    forget_peak_memory()
    before = peak_memory()
    async with reading("chat_bridge", producer) as (_, commits):
        async with asyncio.timeout(60):
            while commits.offsets.get(TopicPartition(reply, 0)) != 401:
                await commits.next()
    grown = peak_memory() - before
    assert grown < 100 * 1024**2, f"{grown / 1024**2:.0f} MiB"
    reasons = [
        (dict(record.headers)["reason"], dict(record.headers)["offset"])
        async for records in records_of(producer.bootstrap, [CHAT_REPLY.dead_letters])
        for record in records
    ]
    assert sorted(reasons) == [(b"batch_too_large", b"199"), (b"batch_too_large", b"399"), (b"too_short", b"400")]


async def test_a_batch_that_no_client_of_ours_can_read_does_not_end_the_consumer(producer: BatchProducer) -> None:
    """The broker accepts a header name that is not UTF-8, and aiokafka raises an exception that is not a KafkaError."""
    feedback = EXPLICIT_RECEIVED.name
    sender = AIOKafkaProducer(bootstrap_servers=producer.bootstrap)
    async with sender:
        batch = sender.create_batch()
        batch.append(key=b"key", value=b"{}", timestamp=None, headers=[("name", b"")])
        written = bytes(batch._build()).replace(b"name", b"\xff" * 4)
        batch._buffer = bytearray(written[:17] + calc_crc32c(written[21:]).to_bytes(4, "big") + written[21:])
        await (await sender.send_batch(batch, feedback, partition=0))
    await producer.send([Message(feedback, "key", b"no JSON", partition=0)])
    async with reading("feedback", producer) as (_, commits):
        async with asyncio.timeout(30):
            while commits.offsets.get(TopicPartition(feedback, 0)) != 2:
                await commits.next()
    reasons = [
        dict(record.headers)["reason"]
        async for records in records_of(producer.bootstrap, [EXPLICIT_RECEIVED.dead_letters])
        for record in records
    ]
    assert reasons == [b"batch_unreadable", b"too_short"]


async def test_a_member_that_is_none_of_ours_is_named_while_it_is_there_and_after(producer: BatchProducer) -> None:
    service = Service("chat_bridge", ServiceContext(producer.bootstrap))
    service.consume("feedback_turns", NoWork())
    await service.start()
    stranger = AIOKafkaConsumer(
        "chat.message.ingested",
        bootstrap_servers=producer.bootstrap,
        group_id="feedback_turns",
        client_id="console-consumer",
        partition_assignment_strategy=(RangePartitionAssignor,),
    )
    (subscription,) = service.subscriptions
    try:
        async with asyncio.timeout(60):
            while not subscription.assigned:
                await asyncio.sleep(0.05)
            assert subscription.warnings == []
            await stranger.start()
            await until_warned(subscription, "is in the group and takes records away")
            await stranger.stop()
            await until_warned(subscription, "was in the group and took records away")
    finally:
        await service.stop()


async def until_warned(subscription: Subscription, words: str) -> None:
    while subscription.warnings != [f"feedback_turns: a consumer that is none of ours {words}"]:
        await asyncio.sleep(0.05)


async def send_bomb(bootstrap: str, topic: str, codec: str, *, records: int) -> None:
    """Send one batch of `records` records of a million blanks each."""
    sender = AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, max_batch_size=1 << 40)
    await sender.start()
    try:
        batch, blanks = sender.create_batch(), b" " * 1_000_000
        for _ in range(records):
            batch.append(key=b"key", value=blanks, timestamp=None)
        await (await sender.send_batch(batch, topic, partition=0))
    finally:
        await sender.stop()


def forget_peak_memory() -> None:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Return the maximum memory of this process in bytes since the last reset."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
