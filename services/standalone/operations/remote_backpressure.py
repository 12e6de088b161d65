"""Backpressure for writing to another process's in-memory log, where writers wait for slow consumer groups."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from contracts.topics import Consumer, consumed_by
from servicekit.log.records import Producer
from standalone.embedded.backpressure import OUTSIDE_BYTES, Backpressure
from standalone.embedded.backpressure_producer import BackpressureProducer

ASK_SECONDS = 0.05


@asynccontextmanager
async def with_backpressure(
    producer: Producer, admin: AIOKafkaAdminClient, groups: Collection[Consumer]
) -> AsyncIterator[Producer]:
    """Yield a producer that waits while it is 1 MiB ahead of `groups` in a partition."""
    backpressure = Backpressure(OUTSIDE_BYTES)
    backpressure.follow(groups)
    asking = asyncio.create_task(_follow(admin, backpressure))
    try:
        yield BackpressureProducer(producer, backpressure)
    finally:
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking


async def _follow(admin: AIOKafkaAdminClient, backpressure: Backpressure) -> None:
    """Poll the committed offsets of the groups. If the log stops responding, waiting writers fail."""
    try:
        while True:
            for group in backpressure.groups:
                lanes = [TopicPartition(topic.name, n) for topic in consumed_by(group) for n in range(topic.partitions)]
                offsets = await admin.list_consumer_group_offsets(group, partitions=lanes) if lanes else {}
                backpressure.committed(
                    group, {lane: metadata.offset for lane, metadata in offsets.items() if metadata.offset >= 0}
                )
            await asyncio.sleep(ASK_SECONDS)
    except (KafkaError, OSError):
        backpressure.stop()
