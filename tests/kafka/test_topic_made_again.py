"""A running consumer continues with a topic that is deleted and recreated, from its beginning."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from contracts.topics import CHAT_REACTION
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message
from servicekit.log.topics import ensure_topics
from tests.support.group_reading import reading
from tests.support.local_kafka import LocalKafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]
REACTION = CHAT_REACTION.name


async def test_a_topic_made_again_is_read_on(tmp_path: Path) -> None:
    async with LocalKafka(tmp_path / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        producer = BatchProducer(kafka.bootstrap, client_id="test")
        await producer.start()
        async with reading("chat_bridge", producer) as (_, commits):
            await publish(producer, 30)
            await asyncio.wait_for(commits.until(30), 30)
            await make_again(kafka.bootstrap)
            await publish(producer, 12)
            await asyncio.wait_for(commits.until(12), 40)
        await producer.stop()


async def publish(producer: BatchProducer, count: int) -> None:
    """Publish unreadable records, which are dead-lettered and committed without any service."""
    await producer.send([Message(REACTION, f"key-{n}", b"no JSON") for n in range(count)])


async def make_again(bootstrap: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([REACTION])
        while REACTION in await admin.list_topics():
            await asyncio.sleep(0)
    finally:
        await admin.close()
    await ensure_topics(bootstrap)
