"""How far the turn registry has read: whether "unknown" means that a turn does not exist, or only not yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from contracts.topics import CHAT_MESSAGE
from servicekit.failures import Unavailable
from servicekit.subscriber import Subscription

T = TypeVar("T")
Ends = Mapping[TopicPartition, int]
"""The offset after the last record, by partition."""


class Reach:
    """Compares the log's ends with what the registry's group has committed, on all partitions.

    All of them, because a foreign producer may put a conversation on any partition; the group's offsets come from
    the log, so partitions that another process reads count as well.
    """

    def __init__(self, subscription: Subscription, *, seconds: float = 5.0) -> None:
        self._subscription = subscription
        self._seconds = seconds

    async def ends(self) -> Ends:
        """Where the log ends now. Raises Unavailable where it does not answer in time."""
        consumer = self._consumer
        partitions = consumer.partitions_for_topic(CHAT_MESSAGE.name) or set(range(CHAT_MESSAGE.partitions))
        wanted = [TopicPartition(CHAT_MESSAGE.name, partition) for partition in sorted(partitions)]
        return dict(await self._ask(consumer.end_offsets(wanted)))

    async def passed(self, ends: Ends) -> bool:
        """Whether everything before `ends` has been taken in. Raises Unavailable where the log does not answer."""
        consumer = self._consumer
        committed = await self._ask(asyncio.gather(*(consumer.committed(partition) for partition in ends)))
        open_ones = {
            partition: offset
            for (partition, end), offset in zip(ends.items(), committed, strict=True)
            if (offset or 0) < end
        }
        if not open_ones:
            return True
        # What lies before the log's beginning is gone and will not be taken in any more.
        begins = await self._ask(consumer.beginning_offsets(list(open_ones)))
        return all(begins[partition] >= ends[partition] for partition in open_ones)

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        consumer = self._subscription.consumer
        if consumer is None:
            raise Unavailable("the turn registry", "it is starting")
        return consumer

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(question, self._seconds)
        except (KafkaError, IllegalStateError, OSError, TimeoutError) as error:
            raise Unavailable("the log", type(error).__name__) from None
