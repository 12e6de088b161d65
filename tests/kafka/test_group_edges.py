"""Unusual events of a consumer group on a real Kafka."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.record.util import calc_crc32c

from contracts.topics import CHAT_REACTION, CHAT_REPLY, EXPLICIT_RECEIVED
from servicekit.log.producer import BatchProducer
from servicekit.log.reader import records_of
from servicekit.log.records import Message
from servicekit.log.topics import ensure_topics
from tests.support.group_reading import reading
from tests.support.local_kafka import LocalKafka
from tests.support.waits import PATIENCE_SECONDS

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


async def publish(producer: BatchProducer, count: int) -> None:
    """Publish unreadable records, which reach no handler."""
    await producer.send([Message(REACTION, "key", b"no JSON", partition=0) for _ in range(count)])


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


async def end_of(producer: BatchProducer) -> int:
    consumer = AIOKafkaConsumer(bootstrap_servers=producer.bootstrap)
    await consumer.start()
    try:
        return int((await consumer.end_offsets([LANE]))[LANE])
    finally:
        await consumer.stop()


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
        async with asyncio.timeout(PATIENCE_SECONDS):
            while commits.offsets.get(TopicPartition(feedback, 0)) != 2:
                await commits.next()
    reasons = [
        dict(record.headers)["reason"]
        async for records in records_of(producer.bootstrap, [EXPLICIT_RECEIVED.dead_letters])
        for record in records
    ]
    assert reasons == [b"batch_unreadable", b"too_short"]


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
