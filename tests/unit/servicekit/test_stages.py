"""Stage times of a batch, bulk observations, and the age of a lag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from servicekit import metrics
from servicekit.bulk_histogram import BulkHistogram
from servicekit.clock import FixedClock
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.lag_age import OBSERVATIONS, LagAge
from servicekit.log.outcome import Outcome
from servicekit.stages import Stage, StageTimes, current_times, stage
from tests.support.logs import NOW, RecordingLog, example, raw

SECOND = 1_000_000
LANE = "topic:0"


class StoringHandler(Handler):
    """Handler that stores every record."""

    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        return [Outcome.STORED for _ in batch]


@pytest.fixture
def times() -> Iterator[StageTimes]:
    """Yield the times of a batch that is current in the test."""
    found = StageTimes()
    token = current_times.set(found)
    yield found
    current_times.reset(token)


def test_a_stage_outside_of_a_batch_is_not_measured() -> None:
    with stage("read"):
        pass
    assert current_times.get() is None


def test_intervals_of_a_stage_are_added_up(times: StageTimes) -> None:
    times.add("database", 1.0, 2.0, 1.0)
    times.add("database", 1.5, 4.0, 2.5)
    assert times.spans["database"] == (3.5, 1.0, 4.0)


def test_an_inner_stage_is_not_counted_twice(times: StageTimes) -> None:
    times.add("encoder", 0.0, 5.0, 5.0)  # of an earlier piece
    with stage("patterns", less="encoder"):
        times.add("encoder", 5.0, 6.0, 1_000.0)
    assert times.seconds("patterns") < -900, "the inner 1,000 s are subtracted, the earlier 5 s are not"
    assert times.seconds("patterns") > -1_001


def test_a_failing_stage_is_measured(times: StageTimes) -> None:
    with pytest.raises(ValueError, match="x"), stage("produce"):
        raise ValueError("x")
    assert times.seconds("produce") > 0


def test_a_bulk_observation_counts_like_single_ones() -> None:
    shown = []
    for bulk in (True, False):
        registry = CollectorRegistry()
        one = BulkHistogram("h", "a histogram", ("group",), buckets=(1, 5), registry=registry).labels("a")
        for amount, count in ((0.5, 3), (5.0, 2), (7.0, 1)):
            for _ in range(1 if bulk else count):
                one.observe_many(amount, count if bulk else 1)
        shown.append([line for line in generate_latest(registry).decode().splitlines() if "_created" not in line])
    assert shown[0] == shown[1]
    assert 'h_bucket{group="a",le="1.0"} 3.0' in shown[0]
    assert 'h_sum{group="a"} 18.5' in shown[0]


def test_a_group_that_has_read_everything_has_no_lag() -> None:
    assert LagAge[str]().seconds({LANE: 7}, {LANE: 7}, 100 * SECOND) == 0
    assert LagAge[str]().seconds({}, {}, 0) == 0


def test_a_record_is_as_old_as_the_first_end_that_included_it() -> None:
    age = LagAge[str]()
    assert age.seconds({LANE: 7}, {LANE: 7}, 100 * SECOND) == 0
    assert age.seconds({LANE: 8}, {LANE: 7}, 105 * SECOND) == 0
    assert age.seconds({LANE: 9}, {LANE: 7}, 110 * SECOND) == 5
    assert age.seconds({LANE: 9}, {LANE: 8}, 115 * SECOND) == 5, "the record at 8 came by 110 s"
    assert age.seconds({LANE: 9}, {LANE: 9}, 120 * SECOND) == 0


def test_an_idle_hour_before_a_record_does_not_count() -> None:
    age = LagAge[str]()
    age.committed({LANE: 0})
    age.seconds({LANE: 7}, {LANE: 7}, 3_600 * SECOND)
    assert age.seconds({LANE: 8}, {LANE: 7}, 3_605 * SECOND) == 0


def test_a_backlog_from_before_the_start_is_as_old_as_the_last_record_read() -> None:
    age = LagAge[str]()
    assert age.seconds({LANE: 90}, {LANE: 7}, 1_000 * SECOND) == 0, "nothing is known about it"
    age.committed({LANE: 400 * SECOND})
    assert age.seconds({LANE: 95}, {LANE: 20}, 1_010 * SECOND) == 610


def test_the_oldest_partition_counts_and_an_assignment_forgets() -> None:
    age = LagAge[str]()
    ends, committed = {"a": 2, "b": 2}, {"a": 2, "b": 2}
    age.seconds(ends, committed, 0)
    assert age.seconds({"a": 3, "b": 2}, committed, 10 * SECOND) == 0
    assert age.seconds({"a": 3, "b": 3}, committed, 14 * SECOND) == 4
    age.forget()
    assert age.seconds({"a": 3, "b": 3}, committed, 20 * SECOND) == 0


def test_a_backlog_longer_than_the_observations_is_still_dated() -> None:
    age = LagAge[str]()
    age.seconds({LANE: 7}, {LANE: 7}, 0)
    age.committed({LANE: 1 * SECOND})
    for number in range(1, OBSERVATIONS + 10):
        found = age.seconds({LANE: 7 + number}, {LANE: 7}, 5 * number * SECOND)
    assert found == 5 * (OBSERVATIONS + 9) - 1


async def test_a_delivery_observes_its_batch() -> None:
    topic, group = "chat.message.ingested", "inference"
    before = {name: sample(name, group) for name in ("batch_records_sum", "event_to_commit_seconds_count")}
    delivery = Delivery("inference", StoringHandler(), RecordingLog(), clock=FixedClock(NOW + 2 * SECOND))

    async def commit(_: object) -> bool:
        return True

    batch = [raw(topic, example(topic, "least"), number, 0) for number in range(3)]
    slow = sample("event_to_commit_seconds_sum", group)
    await delivery.deliver(batch, commit)
    assert sample("batch_records_sum", group) - before["batch_records_sum"] == 3
    assert sample("event_to_commit_seconds_count", group) - before["event_to_commit_seconds_count"] == 3
    assert sample("event_to_commit_seconds_sum", group) - slow == pytest.approx(
        3 * (NOW + 2 * SECOND - batch[0].log_time) / 1e6
    )
    assert current_times.get() is None


def sample(name: str, group: str) -> float:
    return REGISTRY.get_sample_value(f"agent_feedback_{name}", {"group": group}) or 0.0


def test_every_stage_is_named_in_the_meaning_of_its_metric() -> None:
    assert all(one in metrics.STAGE_SECONDS._documentation for one in get_args(Stage))
