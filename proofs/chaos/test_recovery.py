"""Recovery times: from the end of a fault until everything that the log held then is read."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from proofs.chaos.progress import Positions, Progress
from proofs.chaos.recovery import Recovery

LANE = TopicPartition("chat.message.ingested", 0)


def positions(read: int, end: int) -> Positions:
    return Positions({"inference": {LANE: read}}, {LANE: end})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [100.0]
    monkeypatch.setattr("proofs.chaos.recovery.time.monotonic", lambda: seconds[0])
    return seconds


async def test_a_recovery_tells_what_was_left_to_read(clock: list[float]) -> None:
    recovery = Recovery(Progress("unused:1"))
    async with recovery.under("kill", ["inference"]):
        pass
    for at, read, end in ((100.0, 40, 100), (100.5, 40, 120), (103.0, 60, 150), (105.5, 90, 200), (108.0, 100, 250)):
        clock[0] = at
        recovery.look(positions(read, end))
    assert recovery.recovered("inference")
    assert [str(one) for one in recovery.all] == [
        "inference took 8.0 s to recover from kill; left every 5 s: 60, 10"
    ], "records that arrive after the fault belong to no recovery"


async def test_a_group_that_stands_still_until_the_next_fault_is_late(clock: list[float]) -> None:
    recovery = Recovery(Progress("unused:1"))
    async with recovery.under("kill", ["inference"]):
        pass
    for at in (100.0, 101.0, 106.0):
        clock[0] = at
        recovery.look(positions(40, 100))
    clock[0] = 131.0
    async with recovery.under("term", ["inference"]):
        assert [(one.seconds, one.fault, one.left) for one in recovery.all] == [(31.0, "kill", (60, 60))]
    assert recovery.slowest == 31.0
