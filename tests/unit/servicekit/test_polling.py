"""Pauses of a consumer between its polls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from servicekit.log.polling import FULL, poll

ASSIGNED = frozenset({TopicPartition("chat.message.ingested", 0)})


class Consumer:
    """Consumer that returns a number of records and remembers which partitions are paused."""

    def __init__(self, records: int, *, is_holding: bool) -> None:
        self._records = records
        self._fetcher = SimpleNamespace(is_holding=is_holding)
        self._paused = set(ASSIGNED)

    def paused(self) -> set[TopicPartition]:
        return set(self._paused)

    def resume(self, *partitions: TopicPartition) -> None:
        self._paused -= set(partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        self._paused |= set(partitions)

    def assignment(self) -> frozenset[TopicPartition]:
        return ASSIGNED

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[int]]:
        assert not self._paused, "paused partitions return nothing"
        return {one: list(range(self._records)) for one in ASSIGNED}


@pytest.mark.parametrize(
    ("records", "is_holding", "pauses"),
    [(0, False, False), (1, False, True), (FULL - 1, False, True), (FULL, False, False), (1, True, False)],
    ids=["none", "one", "almost full", "full", "held records"],
)
async def test_a_consumer_pauses_after_a_small_batch(records: int, is_holding: bool, pauses: bool) -> None:
    consumer = Consumer(records, is_holding=is_holding)
    subscriber = SimpleNamespace(batch_timeout_ms=10, max_records=1_000)
    assert len(await poll(subscriber, consumer)) == records  # type: ignore[arg-type]
    assert consumer.paused() == (ASSIGNED if pauses else set())
