"""How far the turn registry has read: whether "unknown" means that a turn does not exist, or only not yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from agent_feedback_kit.deadlines import within
from contracts.topics import consumed_by
from servicekit.failures import Unavailable
from servicekit.kafka.subscriber import Subscription

T = TypeVar("T")
Ends = Mapping[TopicPartition, int]
"""The offset after the last record, by partition."""
_BETWEEN_LOOKS = 0.05


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
        wanted = [
            TopicPartition(topic.name, partition)
            for topic in consumed_by("feedback_turns")
            for partition in sorted(consumer.partitions_for_topic(topic.name) or range(topic.partitions))
        ]
        return dict(await self._ask(consumer.end_offsets(wanted)))

    async def passed(self, ends: Ends) -> bool:
        """Whether everything before `ends` has been taken in. Raises Unavailable where the log does not answer."""
        committed = await self._committed(ends)
        if not (behind := {one for one, end in ends.items() if committed[one] < end}):
            return True
        # What lies before the log's beginning is gone and will not be taken in any more.
        begins = await self._ask(self._consumer.beginning_offsets(list(behind)))
        behind = {partition for partition in behind if begins[partition] < ends[partition]}
        return not behind or await self._only_markers_left({one: ends[one] for one in behind}, committed)

    async def _only_markers_left(self, ends: Ends, committed: Ends) -> bool:
        """Whether what is left before `ends` are no records: a transaction's end takes an offset nobody commits.

        Two looks, because a batch that was just read is not yet at work: by the second it is, or it is committed.
        """
        for _ in range(2):
            if self._subscription.at_work or not await self._read_to(ends):
                return False
            if any(offset != committed[partition] for partition, offset in (await self._committed(ends)).items()):
                return False
            await asyncio.sleep(_BETWEEN_LOOKS)
        return True

    async def _read_to(self, ends: Ends) -> bool:
        consumer = self._consumer
        if not consumer.assignment().issuperset(ends):
            return False
        positions = [await self._ask(consumer.position(partition)) for partition in ends]
        return all(position >= end for position, end in zip(positions, ends.values(), strict=True))

    async def _committed(self, partitions: Iterable[TopicPartition]) -> Ends:
        wanted = list(partitions)
        found = await self._ask(asyncio.gather(*(self._consumer.committed(partition) for partition in wanted)))
        return {partition: offset or 0 for partition, offset in zip(wanted, found, strict=True)}

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        consumer = self._subscription.consumer
        if consumer is None:
            raise Unavailable("the turn registry", "it is starting")
        return consumer

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            return await within(self._seconds, question)
        except (KafkaError, IllegalStateError, OSError, TimeoutError) as error:
            raise Unavailable("the log", type(error).__name__) from None
