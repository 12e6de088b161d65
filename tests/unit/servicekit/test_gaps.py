"""Records that the log deleted before they were read are counted and named, whichever member notices first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaTimeoutError
from aiokafka.structs import ConsumerRecord

from servicekit import metrics
from servicekit.log.delivery import Delivery
from servicekit.log.fetch import LOG_APPEND_TIME
from servicekit.log.subscriber import Subscription
from tests.support.hand_clock import HandClock
from tests.support.logs import RecordingLog
from tests.support.unit_handlers import NoWork

TOPIC = "chat.message.ingested"
LANE = TopicPartition(TOPIC, 0)
GAUGES = (metrics.LAG, metrics.COMMITTED_LOG_TIME)
WARNING = f"chat_bridge: 900 records of {TOPIC} were deleted from the log before they were read"


class Partition:
    """A partition for a consumer: the log's beginning and end, and the group's committed offset."""

    def __init__(self, *, begin: int, end: int, committed: int | None) -> None:
        self.begin = begin
        self.end = end
        self.at = committed
        self.asked = 0
        self.committed_asked = 0

    def assignment(self) -> set[TopicPartition]:
        return {LANE}

    async def committed(self, _: TopicPartition) -> int | None:
        self.committed_asked += 1
        return self.at

    async def beginning_offsets(self, lanes: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        return dict.fromkeys(lanes, self.begin)

    async def end_offsets(self, lanes: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(lanes, self.end)

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        self.at = offsets[LANE]

    def seek(self, lane: TopicPartition, offset: int) -> None:
        pass


class Reading(Subscription):
    """Subscription on a given partition. Its records are not JSON, so no handler is needed."""

    def __init__(self, partition: Partition) -> None:
        self.clock = HandClock()
        super().__init__(Delivery("chat_bridge", NoWork(), RecordingLog(), clock=self.clock), self.clock)
        self._given = partition

    @property
    def consumer(self) -> Any:
        return self._given

    async def take(self, first: int, count: int = 1) -> None:
        await self._on_batch(
            [
                ConsumerRecord(TOPIC, 0, first + n, 0, LOG_APPEND_TIME, b"key", b"no JSON", 0, 3, 7, ())
                for n in range(count)
            ]
        )


async def test_a_gap_found_by_the_first_batch_is_not_covered_up_by_its_commit() -> None:
    partition = Partition(begin=1_000, end=1_010, committed=100)
    reading = Reading(partition)
    await reading.take(1_000, 5)
    assert partition.at == 1_005
    assert reading.warnings == [WARNING]
    await reading.lag()
    await reading.take(1_005, 5)
    assert reading.warnings == [WARNING]


@pytest.mark.parametrize("question", ["committed", "beginning_offsets"])
async def test_a_gap_is_found_even_if_nobody_could_look_at_first(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = Partition(begin=1_000, end=1_010, committed=100)
    reading = Reading(partition)
    reading.delivery.backoff.give_up.set()  # instead of the second that a failed batch waits

    async def no_answer(_: Any) -> Any:
        raise KafkaTimeoutError

    with monkeypatch.context() as broken:
        broken.setattr(partition, question, no_answer)
        await reading.take(1_000, 5)
    assert (partition.at, reading.warnings) == (100, [])
    await reading.take(1_000, 5)
    assert (partition.at, reading.warnings) == (1_005, [WARNING])


async def test_a_gap_without_a_record_behind_it_is_found_by_looking_at_the_lag() -> None:
    reading = Reading(Partition(begin=1_000, end=1_000, committed=100))
    assert await reading.lag() == 0
    await reading.lag()
    assert reading.warnings == [WARNING]


async def test_offsets_without_a_record_and_a_group_that_never_read_are_no_gap() -> None:
    compacted = Partition(begin=0, end=50, committed=10)
    reading = Reading(compacted)
    await reading.take(40)
    fresh = Reading(Partition(begin=500, end=600, committed=None))
    await fresh.take(500)
    await fresh.lag()
    assert (reading.warnings, fresh.warnings) == ([], [])


@pytest.mark.parametrize("committed", [None, 40])
async def test_the_committed_offset_is_asked_for_once_per_assignment(committed: int | None) -> None:
    partition = Partition(begin=0, end=50, committed=committed)
    reading = Reading(partition)
    assert [await reading.lag() for _ in range(3)] == [50 - (committed or 0)] * 3
    assert partition.committed_asked == 1
    partition.at = 45
    await reading.on_partitions_assigned([LANE])
    assert [await reading.lag() for _ in range(3)] == [5] * 3
    assert partition.committed_asked == 2


async def test_the_lag_is_shown_with_the_log_time_of_the_last_committed_record(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition(begin=0, end=50, committed=50)
    reading = Reading(partition)
    began = reading.clock.now() / 1_000_000
    values = []
    for end, begin in ((50, 0), (58, 0), (58, 0), (60, 55)):
        partition.begin, partition.end = begin, end
        assert await reading.lag() == end - max(50, begin)
        values.append([gauge.labels("chat_bridge")._value.get() for gauge in GAUGES])
        reading.clock.forward(5)
    assert [lag for lag, _ in values] == [0, 8, 8, 5]
    assert [log_time - began for _, log_time in values] == pytest.approx([0, 5, 5, 5])
    await reading.take(50, 5)
    await reading.lag()
    assert metrics.COMMITTED_LOG_TIME.labels("chat_bridge")._value.get() == 0, "the records' own log time"
    monkeypatch.setattr(partition, "assignment", set)
    assert await reading.lag() == 0
    assert metrics.COMMITTED_LOG_TIME.labels("chat_bridge")._value.get() == reading.clock.now() / 1_000_000


@pytest.mark.parametrize(("end", "is_ready"), [(50, True), (51, False)])
async def test_a_group_that_has_read_everything_stays_ready_without_records(end: int, is_ready: bool) -> None:
    reading = Reading(Partition(begin=0, end=end, committed=50))
    reading.assigned = True
    for _ in range(2):
        reading.clock.forward(59)
        await reading.lag()
    assert (reading.not_ready() is None) is is_ready


async def test_committed_offsets_of_other_processes_are_asked_for_each_time() -> None:
    partition, elsewhere = Partition(begin=0, end=50, committed=20), TopicPartition(TOPIC, 1)
    reading = Reading(partition)
    assert await reading.committed([LANE, elsewhere]) == {LANE: 20, elsewhere: 20}
    partition.at = 30
    assert await reading.committed([LANE, elsewhere]) == {LANE: 20, elsewhere: 30}
    partition.at = None
    assert await reading.committed([elsewhere]) == {elsewhere: 0}
    assert await reading.committed([]) == {}
    assert partition.committed_asked == 4


async def test_a_group_without_a_connection_has_committed_nothing() -> None:
    subscription = Subscription(Delivery("chat_bridge", NoWork(), RecordingLog(), clock=HandClock()), HandClock())
    assert await subscription.committed([LANE]) == {LANE: 0}
    assert await subscription.lag() == 0


async def test_a_committed_offset_from_before_an_assignment_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition(begin=0, end=50, committed=20)
    reading = Reading(partition)
    asked = 0

    async def overtaken(_: TopicPartition) -> int | None:
        nonlocal asked
        asked, found = asked + 1, partition.at
        if asked == 1:
            partition.at = 45  # by the member that had the partition
            await reading.on_partitions_assigned([LANE])
        return found

    monkeypatch.setattr(partition, "committed", overtaken)
    assert [await reading.lag() for _ in range(2)] == [5, 5]
    assert asked == 2


async def test_a_new_assignment_counts_from_what_is_committed_then() -> None:
    partition = Partition(begin=0, end=2_000, committed=0)
    reading = Reading(partition)
    await reading.take(0, 100)
    partition.at = 1_000  # another member had the partition meanwhile
    partition.begin = 1_000
    await reading.on_partitions_assigned([LANE])
    await reading.take(1_000)
    assert reading.warnings == []
