"""A topic that is deleted and made again under a running consumer is read on, from its beginning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from unit_handlers import NoWork

from contracts.topics import CHAT_REACTION, Consumer
from servicekit.clock import SystemClock
from servicekit.delivery import Delivery
from servicekit.embedded.local_kafka import LocalKafka
from servicekit.producer import BatchProducer, Message
from servicekit.subscriber import Subscription, build_broker
from servicekit.topics import ensure_topics

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]
REACTION = CHAT_REACTION.name


class Commits:
    """Waits for the group to have taken in so many records of the topic."""

    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, int] = {}
        self._changed = asyncio.Condition()

    def __call__(self, group: Consumer, offsets: Mapping[TopicPartition, int]) -> None:
        self._offsets.update(offsets)
        asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, records: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: sum(self._offsets.values()) == records)
        self._offsets.clear()


async def test_a_topic_made_again_is_read_on(tmp_path: Path) -> None:
    async with LocalKafka(tmp_path / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        producer = BatchProducer(kafka.bootstrap, client_id="test")
        await producer.start()
        commits, clock = Commits(), SystemClock()
        subscription = Subscription(Delivery("chat_bridge", NoWork(), producer, clock=clock), clock, commits)
        broker = build_broker(kafka.bootstrap, client_id="test", subscriptions=[subscription])
        await broker.start()
        try:
            await publish(producer, 30)
            await asyncio.wait_for(commits.until(30), 30)
            await make_again(kafka.bootstrap)
            await publish(producer, 12)
            await asyncio.wait_for(commits.until(12), 40)
        finally:
            await subscription.stop()
            await broker.stop()
            await producer.stop()


async def publish(producer: BatchProducer, count: int) -> None:
    """Records that cannot be read: they are set aside and committed, without any service."""
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
