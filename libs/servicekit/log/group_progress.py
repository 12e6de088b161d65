"""Waiting for a consumer group to catch up with the log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from agent_feedback_kit.deadlines import within
from contracts.topics import Topic
from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.subscriber import Subscription

T = TypeVar("T")
Ends = Mapping[TopicPartition, int]
"""End offset (the offset after the last record) by partition."""
POLL_SECONDS = 0.02
_BETWEEN_LOOKS = 0.05


async def _nothing() -> None:
    return None


class GroupProgress:
    """Progress of a consumer group on some of its topics: its committed offsets compared with the log's end offsets.

    All partitions of the topics are compared, because a foreign producer may write a conversation to any
    partition. The log is asked for the committed offsets of partitions that another process reads.

    End offsets are requested over a separate connection. On the subscription's own connection, the request would have
    to wait for fetches.

    Args:
        seconds: The timeout of a request to the log.
    """

    def __init__(
        self,
        subscription: Subscription,
        topics: Collection[Topic],
        bootstrap: Bootstrap,
        clock: Clock,
        *,
        seconds: float,
    ) -> None:
        self._subscription = subscription
        self._topics = topics
        self._bootstrap = bootstrap
        self._clock = clock
        self._seconds = seconds
        self._asker: AIOKafkaConsumer | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close the connection used to request end offsets."""
        if self._asker is not None:
            await self._asker.stop()

    async def poll_until_caught_up(
        self, seconds: float, look: Callable[[], Awaitable[T | None]] = _nothing
    ) -> tuple[T | None, bool]:
        """Call `look` repeatedly until it returns a result, the group has caught up, or `seconds` have passed.

        The group has caught up once it has handled all records that were in the topics when the wait began.

        Args:
            seconds: The maximum duration of the wait.

        Returns:
            The last result of `look`, and True if the group had caught up before that call.

        Raises:
            Unavailable: If the log does not respond.
        """
        ends = await self.ends()
        deadline = self._clock.monotonic() + seconds
        while not (passed := await self.passed(ends)) and self._clock.monotonic() < deadline:
            if (result := await look()) is not None:
                return result, False
            await asyncio.sleep(POLL_SECONDS)
        return await look(), passed

    async def wait_until_caught_up(self, limit: float, seconds: float | None = None) -> bool:
        """Wait until the group has read everything that is in the topics now.

        Args:
            limit: The default and the maximum of `seconds`.
            seconds: The maximum duration of the wait.

        Returns:
            False if the group did not catch up in time, or if the log did not respond.
        """
        seconds = limit if seconds is None else min(seconds, limit)
        try:
            _, passed = await within(seconds, self.poll_until_caught_up(seconds))
        except (Unavailable, TimeoutError):
            return False
        return passed

    async def ends(self) -> Ends:
        """Return the current end offsets of the topics' partitions.

        Raises Unavailable if the log does not respond in time, or if the partitions are not known yet.
        """
        consumer = self._consumer
        wanted: list[TopicPartition] = []
        for topic in self._topics:
            partitions = consumer.partitions_for_topic(topic.name)
            if partitions is None:
                raise Unavailable("the log", "its reader is starting")
            wanted += [TopicPartition(topic.name, partition) for partition in sorted(partitions)]
        return await self._ask(self._ends(wanted))

    async def passed(self, ends: Ends) -> bool:
        """Return True if the group has handled all records before the offsets `ends`.

        Raises Unavailable if the log does not respond.
        """
        written = {partition: end for partition, end in ends.items() if end}
        committed = await self._ask(self._subscription.committed(written))
        if not (behind := {lane for lane, end in written.items() if committed[lane] < end}):
            return True
        # Records before the log's beginning were deleted, so nobody will read them.
        begins = await self._ask(self._consumer.beginning_offsets(list(behind)))
        behind = {partition for partition in behind if begins[partition] < ends[partition]}
        return not behind or await self._only_markers_left({lane: ends[lane] for lane in behind}, committed)

    async def _only_markers_left(self, ends: Ends, committed: Ends) -> bool:
        """Return True if only transaction markers are left before the offsets `ends`.

        The offset of a marker is never committed. The check runs twice, because a batch that was just fetched may not
        have reached the handler at the first check.
        """
        for _ in range(2):
            if self._subscription.at_work or not await self._read_to(ends):
                return False
            offsets = await self._ask(self._subscription.committed(ends))
            if any(offset != committed[partition] for partition, offset in offsets.items()):
                return False
            await asyncio.sleep(_BETWEEN_LOOKS)
        return True

    async def _read_to(self, ends: Ends) -> bool:
        consumer = self._consumer
        if not consumer.assignment().issuperset(ends):
            return False
        positions = [await self._ask(consumer.position(partition)) for partition in ends]
        return all(position >= end for position, end in zip(positions, ends.values(), strict=True))

    async def _ends(self, wanted: list[TopicPartition]) -> Ends:
        async with self._opening:
            if self._asker is None:
                asker = AIOKafkaConsumer(**client_options(self._bootstrap), enable_auto_commit=False)
                try:
                    await asker.start()
                except BaseException:
                    await asker.stop()
                    raise
                self._asker = asker
        return dict(await self._asker.end_offsets(wanted))

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        consumer = self._subscription.consumer
        if consumer is None:
            raise Unavailable("the log", "its reader is starting")
        return consumer

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            return await within(self._seconds, question)
        except (KafkaError, IllegalStateError, OSError, TimeoutError) as error:
            raise Unavailable("the log", type(error).__name__) from None
