"""A consumer group on a real log without a service: its records are discarded, or passed to a given handler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka import TopicPartition

from contracts.topics import Consumer
from servicekit.clock import SystemClock
from servicekit.log.broker import build_broker
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.producer import BatchProducer
from servicekit.log.subscriber import Subscription
from tests.support.unit_handlers import NoWork


class Commits:
    """Waits until the group has committed so many records of the topic."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self._changed = asyncio.Condition()

    def __call__(self, group: Consumer, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets.update(offsets)
        asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def next(self) -> None:
        """Wait for another commit."""
        async with self._changed:
            await self._changed.wait()

    async def until(self, records: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: sum(self.offsets.values()) == records)
        self.offsets.clear()


@asynccontextmanager
async def reading(
    group: Consumer, producer: BatchProducer, handler: Handler | None = None
) -> AsyncIterator[tuple[Subscription, Commits]]:
    """Run a subscription of `group` on the producer's log, and stop it at the end."""
    commits, clock = Commits(), SystemClock()
    subscription = Subscription(Delivery(group, handler or NoWork(), producer, clock=clock), clock, commits)
    broker = build_broker(producer.bootstrap, client_id="agent-feedback-test", subscriptions=[subscription])
    await broker.start()
    try:
        yield subscription, commits
    finally:
        await subscription.stop()
        await broker.stop()
