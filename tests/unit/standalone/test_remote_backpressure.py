"""Another process writes to the in-process log no faster than its readers commit."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer

from contracts.topics import CHAT_TOPICS
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer
from servicekit.log.topics import partitions_by_topic, wait_for_broker
from standalone.embedded.memory_broker import MemoryBroker
from standalone.operations.remote_backpressure import with_backpressure

VALUE = b"x" * 20_000
COUNT = 8 * 1024 * 1024 // len(VALUE)


@pytest.mark.timeout(60)
async def test_a_replay_from_outside_waits_for_the_readers() -> None:
    topic = CHAT_TOPICS[1].name
    with MemoryBroker(partitions_by_topic()) as broker:
        inner = BatchProducer(broker.bootstrap, client_id="writer")
        admin = await wait_for_broker(broker.bootstrap, lambda _: None)
        reader = AIOKafkaConsumer(
            *(each.name for each in CHAT_TOPICS),
            bootstrap_servers=broker.bootstrap,
            group_id="chat_bridge",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        read: list[str] = []
        ahead = 0

        async def write() -> None:
            nonlocal ahead
            async with with_backpressure(inner, admin, ["chat_bridge"]) as producer:
                await producer.send([Message(topic, str(n), VALUE, partition=0) for n in range(COUNT)])

        try:
            writing = asyncio.create_task(write())
            while not writing.done() and inner.produced[topic] == 0:
                await asyncio.sleep(0)
            await reader.start()
            while len(read) < COUNT:
                found = await reader.getmany(timeout_ms=5_000, max_records=20)
                assert found, "records were dropped before they were read"
                read += [record.key.decode() for records in found.values() for record in records]
                ahead = max(ahead, inner.produced[topic] - len(read))
                await reader.commit()
            await writing
        finally:
            await reader.stop()
            await admin.close()
            await inner.stop()
    assert read == [str(n) for n in range(COUNT)]
    assert ahead * len(VALUE) <= 1024 * 1024
