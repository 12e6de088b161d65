"""Records that arrive during a batch form the next batch together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import TopicPartition

from contracts.topics import CHAT_MESSAGE
from servicekit.clock import SystemClock
from servicekit.log.broker import build_broker
from servicekit.log.delivery import Delivery
from servicekit.log.messages import Message
from servicekit.log.outcome import Outcome
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Received
from servicekit.log.subscriber import Subscription
from servicekit.log.topics import partitions_by_topic
from standalone.embedded.memory_broker import MemoryBroker
from tests.support.logs import RecordingLog
from tests.support.running_stack import message
from tests.support.unit_handlers import NoWork
from tests.support.waits import PATIENCE_SECONDS

FIRST, SECOND = TopicPartition(CHAT_MESSAGE.name, 0), TopicPartition(CHAT_MESSAGE.name, 1)


class HeldUp(NoWork):
    """Handler that works on its first batch until it is released."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.at_work, self.may_go_on, self.done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        self.batches.append([one.event.message_id for one in batch])
        self.at_work.set()
        await self.may_go_on.wait()
        if sum(map(len, self.batches)) == 3:
            self.done.set()
        return [Outcome.STORED] * len(batch)


@asynccontextmanager
async def _consuming(bootstrap: str, handler: HeldUp) -> AsyncIterator[Subscription]:
    clock = SystemClock()
    subscription = Subscription(Delivery("feedback", handler, RecordingLog(), clock=clock), clock)
    broker = build_broker(bootstrap, client_id="test", subscriptions=[subscription])
    await broker.start()
    try:
        yield subscription
    finally:
        await subscription.stop()
        await broker.stop()


async def test_the_log_is_asked_when_a_batch_is_done() -> None:
    with MemoryBroker(partitions_by_topic()) as log:
        producer, handler = BatchProducer(log.bootstrap, client_id="test"), HeldUp()

        async def publish(name: str, partition: TopicPartition) -> None:
            value = json.dumps(message(name, "c1", turn="t1")).encode()
            await producer.send([Message(partition.topic, "key", value, partition=partition.partition)])

        async with asyncio.timeout(PATIENCE_SECONDS), _consuming(log.bootstrap, handler) as subscription:
            await publish("m1", FIRST)
            await handler.at_work.wait()
            for name, partition in (("m2", FIRST), ("m3", SECOND)):
                await publish(name, partition)
                # The log responds to earlier requests before this one.
                assert subscription.consumer is not None
                await subscription.consumer.end_offsets([FIRST])
            handler.may_go_on.set()
            await handler.done.wait()
        await producer.stop()
    assert [sorted(batch) for batch in handler.batches] == [["m1"], ["m2", "m3"]]
