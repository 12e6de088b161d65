"""A group has caught up once everything that was in the log has been handled."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError

import servicekit.log.group_progress as group_progress
from contracts.topics import Consumer, consumed_by
from servicekit.errors import Unavailable
from servicekit.log.group_progress import GroupProgress
from tests.support.hand_clock import HandClock

GROUP: Consumer = "inference"
FIRST, SECOND = (TopicPartition(consumed_by(GROUP)[0].name, number) for number in range(2))


@dataclass
class Reading:
    """Stand-in for a subscription and its consumer: offsets by partition, 0 by default."""

    commits: dict[TopicPartition, int] = field(default_factory=dict)
    begins: dict[TopicPartition, int] = field(default_factory=dict)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    assigned: set[TopicPartition] = field(default_factory=lambda: {FIRST, SECOND})
    later: list[dict[TopicPartition, int]] = field(default_factory=list)
    """Commits between the following requests for committed offsets."""
    at_work: bool = False
    is_started: bool = True
    error: Exception | None = None
    group: Consumer = GROUP

    @property
    def consumer(self) -> Any:
        return self if self.is_started else None

    async def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if self.error is not None:
            raise self.error
        found = {one: self.commits.get(one, 0) for one in partitions}
        if self.later:
            self.commits |= self.later.pop(0)
        return found

    async def beginning_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {one: self.begins.get(one, 0) for one in partitions}

    async def position(self, partition: TopicPartition) -> int:
        return self.positions.get(partition, 0)

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.assigned)


def progress_of(reading: Reading, clock: HandClock | None = None) -> GroupProgress:
    subscription: Any = reading
    return GroupProgress(subscription, consumed_by(GROUP), "localhost:1", clock or HandClock(), seconds=5)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_SECONDS", "_BETWEEN_LOOKS"):
        monkeypatch.setattr(group_progress, name, 0)


@pytest.mark.parametrize(
    ("reading", "ends", "passed"),
    [
        (Reading(), {}, True),
        (Reading(), {FIRST: 0, SECOND: 0}, True),
        (Reading({FIRST: 7}), {FIRST: 7, SECOND: 0}, True),
        (Reading({FIRST: 9, SECOND: 3}), {FIRST: 7, SECOND: 3}, True),
        (Reading({FIRST: 6}), {FIRST: 7}, False),
        (Reading({FIRST: 7}), {FIRST: 7, SECOND: 1}, False),
        (Reading(begins={FIRST: 7}), {FIRST: 7}, True),
        (Reading(begins={FIRST: 6}), {FIRST: 7}, False),
        (Reading(begins={FIRST: 7}), {FIRST: 7, SECOND: 1}, False),
        (Reading({FIRST: 6}, positions={FIRST: 7}), {FIRST: 7}, True),
        (Reading({FIRST: 6}, positions={FIRST: 9}, begins={SECOND: 2}), {FIRST: 7, SECOND: 2}, True),
        (Reading({FIRST: 6}, positions={FIRST: 7}), {FIRST: 7, SECOND: 1}, False),
        (Reading({FIRST: 6}, positions={FIRST: 7}, at_work=True), {FIRST: 7}, False),
        (Reading({FIRST: 6}, positions={FIRST: 7}, assigned={SECOND}), {FIRST: 7}, False),
        (Reading({FIRST: 5}, positions={FIRST: 7}, later=[{FIRST: 6}]), {FIRST: 7}, False),
        (Reading({FIRST: 5}, positions={FIRST: 7}, later=[{}, {FIRST: 6}]), {FIRST: 7}, False),
    ],
    ids=["no partition", "empty log", "all committed", "more committed", "one missing", "another partition missing",
         "deleted from the log", "all but one deleted", "one partition deleted", "a marker at the end",
         "a marker and a deleted partition", "a marker and a record", "a marker behind a batch",
         "a marker in another process", "commit at the first look", "commit at the second look"],
)  # fmt: skip
async def test_everything_before_the_ends_must_be_handled(
    reading: Reading, ends: Mapping[TopicPartition, int], passed: bool
) -> None:
    assert await progress_of(reading).passed(ends) is passed


@pytest.mark.parametrize("error", [KafkaConnectionError("secret"), OSError("secret"), TimeoutError()], ids=repr)
async def test_a_log_that_does_not_answer_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable) as raised:
        await progress_of(Reading(error=error)).passed({FIRST: 1})
    assert type(error).__name__ in str(raised.value) and "secret" not in str(raised.value)


async def test_a_group_that_is_starting_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="starting"):
        await progress_of(Reading(is_started=False)).ends()
    assert not await progress_of(Reading(is_started=False)).wait_until_caught_up(1)


class Waiting(GroupProgress):
    """Progress of a group that has caught up at the look with the number `at`. Each look takes a second."""

    def __init__(self, at: float) -> None:
        self.time = HandClock()
        subscription: Any = Reading()
        super().__init__(subscription, consumed_by(GROUP), "localhost:1", self.time, seconds=5)
        self._at = at
        self.looks = 0

    async def ends(self) -> dict[TopicPartition, int]:
        return {FIRST: 7}

    async def passed(self, ends: Mapping[TopicPartition, int]) -> bool:
        assert ends == {FIRST: 7}
        self.looks += 1
        self.time.forward(1)
        return self.looks >= self._at


@pytest.mark.parametrize(
    ("at", "finds_at", "expected"),
    [
        (1, math.inf, (None, True)),
        (3, math.inf, (None, True)),
        (math.inf, math.inf, (None, False)),
        (1, 1, (1, True)),
        (3, 3, (3, True)),
        (3, 2, (2, False)),
        (math.inf, 5, (5, False)),
        (5, math.inf, (None, True)),
        (6, math.inf, (None, False)),
    ],
)
async def test_a_wait_ends_with_a_result_or_with_the_group_or_in_time(
    at: float, finds_at: float, expected: tuple[int | None, bool]
) -> None:
    progress = Waiting(at)

    async def look() -> int | None:
        return progress.looks if progress.looks >= finds_at else None

    assert await progress.poll_until_caught_up(5, look) == expected
    assert progress.looks == min(at, finds_at, 5)


@pytest.mark.parametrize(("limit", "seconds", "looks"), [(5, None, 5), (5, 3, 3), (5, 0, 1)])
async def test_a_wait_for_the_group_is_no_longer_than_its_limit(
    limit: float, seconds: float | None, looks: int
) -> None:
    progress = Waiting(math.inf)
    assert not await progress.wait_until_caught_up(limit, seconds)
    assert progress.looks == looks
    assert await Waiting(looks).wait_until_caught_up(limit, seconds)
