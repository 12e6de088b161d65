"""Pauses of a consumer between its polls."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from servicekit.log.fetch import FULL, LARGE, Polling
from tests.support.waits import PATIENCE_SECONDS

LANE = TopicPartition("feedback.created", 0)
ASSIGNED = frozenset({LANE})


class Consumer:
    """Consumer that returns a number of records once, and remembers which partitions are paused."""

    def __init__(self, records: int) -> None:
        self.records = records
        self._paused = set(ASSIGNED)
        self.asked = 0

    def paused(self) -> set[TopicPartition]:
        return set(self._paused)

    def resume(self, *partitions: TopicPartition) -> None:
        self._paused -= set(partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        self._paused |= set(partitions)

    def assignment(self) -> frozenset[TopicPartition]:
        return ASSIGNED

    async def getmany(self, *_: TopicPartition, timeout_ms: int, max_records: int) -> Any:
        assert not self._paused, "paused partitions return nothing"
        self.asked += 1
        count, self.records = self.records, 0
        await asyncio.sleep(timeout_ms / 1_000 if count == 0 else 0)
        records = [ConsumerRecord(*LANE, n, 0, 0, None, b"", None, 0, 0, ()) for n in range(count)]
        return {LANE: records} if records else {}


@pytest.mark.parametrize(
    ("records", "pauses"),
    [(0, False), (1, True), (FULL - 1, True), (FULL, False), (1_001, False)],
    ids=["none", "one", "almost full", "full", "records left"],
)
async def test_a_consumer_pauses_after_a_small_batch(
    records: int, pauses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servicekit.log.fetch.BATCH_TIMEOUT_SECONDS", 0.01)
    consumer: Any = Consumer(records)
    assert len(await Polling().get_msg(consumer)) == min(records, 1_000)
    assert consumer.paused() == (ASSIGNED if pauses else set())


async def test_a_log_that_announces_records_is_fetched_once_per_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("servicekit.log.fetch.ONE_FETCH_SECONDS", 0)
    consumer: Any = Consumer(0)
    announced: asyncio.Queue[None] = asyncio.Queue()

    async def unread(_seconds: float) -> None:
        await announced.get()

    polling = Polling(unread=unread)
    for _ in range(3):
        announced.put_nowait(None)
        assert await polling.get_msg(consumer) == ()
    assert (consumer.asked, consumer.paused()) == (3, ASSIGNED)
    waiting = asyncio.create_task(polling.get_msg(consumer))
    await asyncio.sleep(0)
    consumer.records = FULL
    announced.put_nowait(None)
    assert len(await waiting) == FULL
    consumer.records = 1
    assert len(await polling.get_msg(consumer)) == 1, "after a full batch, there may be records of another process"


@pytest.mark.parametrize("records", [1, LARGE - 1])
async def test_after_a_small_batch_the_next_fetch_waits(records: int) -> None:
    consumer: Any = Consumer(records)
    polling = Polling(wait_seconds=0.05)
    assert len(await polling.get_msg(consumer)) == records
    fetched = time.monotonic()
    consumer.records = 1
    assert len(await polling.get_msg(consumer)) == 1
    assert time.monotonic() - fetched > 0.04


async def test_after_a_large_batch_the_next_fetch_does_not_wait() -> None:
    consumer: Any = Consumer(LARGE)
    polling = Polling(wait_seconds=3_600)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert len(await polling.get_msg(consumer)) == LARGE
        consumer.records = 1
        assert len(await polling.get_msg(consumer)) == 1
