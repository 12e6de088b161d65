"""Order in which a consumer returns the records of related topics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException
from aiokafka.structs import ConsumerRecord

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, IN_LOG_ORDER
from servicekit.log.fetch import GAP_MS, HOLD_SECONDS, LogOrder
from servicekit.log.fetch_limits import FetchFailure

MESSAGES, REPLIES, REACTIONS, OTHER = (
    TopicPartition(topic, 0) for topic in (CHAT_MESSAGE.name, CHAT_REPLY.name, CHAT_REACTION.name, "other")
)
NOW = 1_000_000


def record(lane: TopicPartition, offset: int, time: int, value: Any = b"") -> ConsumerRecord:
    return ConsumerRecord(lane.topic, lane.partition, offset, time, 0, None, value, None, 0, 0, ())


class Consumer:
    """Fake of the part of aiokafka's consumer that the merge uses. `arriving` is fetched by the next calls."""

    def __init__(self, *lanes: TopicPartition) -> None:
        self.lanes = lanes or (MESSAGES, REPLIES, REACTIONS)
        self.ends: dict[TopicPartition, int | None] = dict.fromkeys(self.lanes, 0)
        self.positions = dict.fromkeys(self.lanes, 0)
        self.arriving: list[dict[TopicPartition, list[ConsumerRecord]]] = []
        self.waits: list[int] = []
        self.clock = 0.0

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.lanes)

    def highwater(self, lane: TopicPartition) -> int | None:
        return self.ends[lane]

    async def position(self, lane: TopicPartition) -> int:
        return self.positions[lane]

    def seek(self, lane: TopicPartition, offset: int) -> None:
        self.positions[lane] = offset

    async def getmany(self, *lanes: TopicPartition, timeout_ms: int, max_records: int) -> Any:
        await asyncio.sleep(0)
        if timeout_ms:
            self.waits.append(timeout_ms)
            self.clock += timeout_ms / 1_000
        fetched = self.arriving.pop(0) if self.arriving else {}
        assert set(fetched) <= set(lanes)
        for lane, records in fetched.items():
            self.positions[lane] = records[-1].offset + 1
        return fetched

    def add(self, lane: TopicPartition, *times: int, unread: int = 0, first: int | None = None) -> None:
        """Let records with these times arrive, and leave `unread` records in the log."""
        first = self.ends[lane] or 0 if first is None else first
        self.arriving.append({lane: [record(lane, first + n, time) for n, time in enumerate(times)]})
        self.ends[lane] = first + len(times) + unread


class Run:
    def __init__(self, *lanes: TopicPartition) -> None:
        self.consumer = Consumer(*lanes)
        self.order = LogOrder(now=lambda: NOW, monotonic=lambda: self.consumer.clock)

    async def poll(self, seconds: float = 1.0, limit: int = 100) -> list[tuple[str, int]]:
        batch = await self.order.next_batch(cast("AIOKafkaConsumer", self.consumer), seconds, limit)
        return [(one.topic, one.timestamp) for one in batch]


def named(lane: TopicPartition, *times: int) -> list[tuple[str, int]]:
    return [(lane.topic, time) for time in times]


async def test_related_topics_are_merged_by_log_time_and_then_by_rank() -> None:
    run = Run()
    run.consumer.add(REACTIONS, 10, 30)
    run.consumer.add(MESSAGES, 10, 20)
    run.consumer.add(REPLIES, 20)
    expected = [(MESSAGES, 10), (REACTIONS, 10), (MESSAGES, 20), (REPLIES, 20), (REACTIONS, 30)]
    assert await run.poll() == [(lane.topic, time) for lane, time in expected]
    assert run.order.is_empty
    assert list(IN_LOG_ORDER) == [CHAT_MESSAGE.name, CHAT_REPLY.name, CHAT_REACTION.name]


async def test_nothing_is_returned_beyond_the_last_time_of_a_partition_with_unread_records() -> None:
    run = Run()
    run.consumer.add(MESSAGES, 10, 20, unread=1)
    run.consumer.add(REACTIONS, 15, 25)
    assert await run.poll() == [*named(MESSAGES, 10), *named(REACTIONS, 15), *named(MESSAGES, 20)]
    run.consumer.add(MESSAGES, 22, first=2)
    assert await run.poll() == [*named(MESSAGES, 22), *named(REACTIONS, 25)]


async def test_records_wait_for_a_partition_that_was_never_fetched() -> None:
    run = Run()
    run.consumer.ends[MESSAGES] = None
    run.consumer.add(REACTIONS, 15)
    assert await run.poll() == []
    assert sum(run.consumer.waits) == pytest.approx(1_000, abs=150)
    run.consumer.ends[MESSAGES] = 0
    assert await run.poll() == named(REACTIONS, 15)


async def test_a_wait_ends_after_five_seconds_and_begins_again_with_the_next_position() -> None:
    run = Run()
    run.consumer.ends[MESSAGES] = 9
    run.consumer.add(REACTIONS, 15)
    polls = 0
    while not (batch := await run.poll()):
        polls += 1
    assert (batch, polls) == (named(REACTIONS, 15), HOLD_SECONDS)
    run.consumer.add(REACTIONS, 16)
    assert await run.poll() == named(REACTIONS, 16), "the position has not advanced"
    run.consumer.add(MESSAGES, 14, unread=8, first=0)
    run.consumer.add(REACTIONS, 17)
    assert await run.poll() == named(MESSAGES, 14)
    assert await run.poll() == []


async def test_other_topics_and_numbers_do_not_wait() -> None:
    second = TopicPartition(CHAT_REACTION.name, 1)
    run = Run(MESSAGES, REACTIONS, OTHER, second)
    run.consumer.ends[MESSAGES] = 5
    run.consumer.add(REACTIONS, 1)
    run.consumer.add(OTHER, 3)
    run.consumer.add(second, 2)
    assert await run.poll() == [*named(second, 2), *named(OTHER, 3)]
    assert not run.order.is_empty


async def test_the_order_within_a_partition_stays_and_a_future_record_delays_nobody() -> None:
    run = Run()
    run.consumer.add(REACTIONS, NOW + 500, 7)
    run.consumer.add(MESSAGES, 9, NOW - 1)
    assert await run.poll() == [*named(MESSAGES, 9, NOW - 1), *named(REACTIONS, NOW + 500, 7)]


@pytest.mark.parametrize(("times", "length"), [(range(0, 150, 1), 100), ([*range(95), *range(200, 250)], 95)])
async def test_a_full_batch_ends_at_a_gap_in_its_last_tenth(times: Sequence[int], length: int) -> None:
    assert GAP_MS == 10
    run = Run(OTHER)
    run.consumer.add(OTHER, *times)
    assert [len(await run.poll()), len(await run.poll())] == [length, len(times) - length]


async def test_a_rewind_seeks_back_to_what_was_not_returned() -> None:
    run = Run(MESSAGES, OTHER)
    run.consumer.add(OTHER, *range(0, 2_000, 20))
    assert len(await run.poll(limit=40)) == 40
    run.order.rewind(cast("AIOKafkaConsumer", run.consumer))
    assert (run.consumer.positions, run.order.is_empty) == ({MESSAGES: 0, OTHER: 40}, True)


async def test_a_failed_fetch_loses_nothing_of_other_partitions() -> None:
    run = Run(MESSAGES, OTHER)
    failure = FetchFailure(CorruptRecordException("damaged"))
    run.consumer.arriving.append(
        {MESSAGES: [record(MESSAGES, 0, 5)], OTHER: [record(OTHER, 0, 3), record(OTHER, -1, 0, failure)]}
    )
    with pytest.raises(CorruptRecordException):
        await run.poll()
    assert await run.poll() == [*named(OTHER, 3), *named(MESSAGES, 5)]
