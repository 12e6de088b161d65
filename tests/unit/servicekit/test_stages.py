"""Stage times of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from prometheus_client import REGISTRY

from servicekit.clock import StageTimes, current_times, stage
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from tests.support.hand_clock import FixedClock
from tests.support.logs import NOW, RecordingLog, example, raw

SECOND = 1_000_000


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


def test_intervals_of_a_stage_are_added_up(times: StageTimes) -> None:
    times.add("database", 1.0, 2.0, 1.0)
    times.add("database", 1.5, 4.0, 2.5)
    assert times.spans["database"] == (3.5, 1.0, 4.0)


def test_a_failing_stage_is_measured(times: StageTimes) -> None:
    with pytest.raises(ValueError, match="x"), stage("produce"):
        raise ValueError("x")
    assert times.seconds("produce") > 0


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
