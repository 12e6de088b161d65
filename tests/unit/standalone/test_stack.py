"""The services of one process: readiness, lag, facts, and the end of accepted work."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from servicekit.service import Service, ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.one_process.stack import Stack, together
from tests.support.waits import PATIENCE_SECONDS

AROUND = ServiceContext("localhost:1")


class Part(Service):
    """Service that reads no log: `left` is its number of unconsumed records at each question, the last one stays."""

    def __init__(self, name: str, why: str | None = None, left: tuple[int, ...] = (0,)) -> None:
        super().__init__(name, AROUND)
        self.asked = 0
        self._why = why
        self._left = left

    async def not_ready(self) -> str | None:
        return self._why

    async def lag(self) -> int:
        self.asked += 1
        return self._left[min(self.asked, len(self._left)) - 1]


def stack_of(*parts: Part, backpressure: Backpressure | None = None) -> Stack:
    stack = Stack(AROUND, "", backpressure, lambda: Counter(invalid_json=2))
    stack.services = {part.name: part for part in parts}
    return stack


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "the services are starting"),
        ([Part("a"), Part("b")], None),
        ([Part("a"), Part("b", "b waits")], "b waits"),
        ([Part("a", "a waits"), Part("b", "b waits")], "a waits"),
    ],
)
async def test_a_stack_is_ready_once_all_its_services_are(parts: list[Part], why: str | None) -> None:
    assert await stack_of(*parts).not_ready() == why


async def test_all_accepted_work_is_processed_before_the_end() -> None:
    backpressure, part = Backpressure(), Part("a", left=(3, 2, 0, 0))
    stack = stack_of(part, Part("b"), backpressure=backpressure)
    assert backpressure.room(1)
    assert await stack.drain(PATIENCE_SECONDS) is True
    assert part.asked == 4, "once more after nothing was left"
    assert not backpressure.room(1), "no more work is accepted"
    assert await stack_of(Part("a")).drain(PATIENCE_SECONDS) is True


async def test_work_that_is_not_processed_in_time_is_told() -> None:
    assert await stack_of(Part("a", left=(1,)), backpressure=Backpressure()).drain(0.05) is False


async def test_records_written_between_two_questions_are_waited_for() -> None:
    part, seen = Part("a"), list[int]()
    stack = stack_of(part)

    def progress(left: int) -> None:
        seen.append(left)
        if len(seen) < 3:
            part.batch_producer.produced["feedback.created"] += 1

    async with asyncio.timeout(PATIENCE_SECONDS):
        await stack.quiet(progress)
    assert seen == [0, 0, 0]
    stack.intake.produced["chat.message.ingested"] += 5
    assert stack.produced == Counter({"feedback.created": 2, "chat.message.ingested": 5})


async def test_lag_is_that_of_all_services() -> None:
    seen: list[int] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stack_of(Part("a", left=(4, 0)), Part("b", left=(3, 1, 0))).quiet(seen.append)
    assert seen == [7, 1, 0, 0]


async def test_a_fact_is_that_of_the_service_that_reports_it() -> None:
    async def seven() -> int:
        return 7

    one, other = Part("a"), Part("b")
    one.watched.append(lambda: ["a is full"])
    other.watched.append(lambda: ["b is full", "b is late"])
    other.facts["parked"] = seven
    stack = stack_of(one, other)
    assert await stack.fact("parked") == 7
    with pytest.raises(KeyError, match="nothing"):
        await stack.fact("nothing")
    warnings = ["a is full", "b is full", "b is late"]
    assert stack.warnings == warnings
    assert await stack.health() == {"lag": {}, "parked": 7, "dead_letters": {"invalid_json": 2}, "warnings": warnings}


async def test_the_results_of_work_together_are_in_order_and_a_failure_ends_the_rest() -> None:
    ended: list[str] = []

    async def done(value: int) -> int:
        return value

    async def endless() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")
        return 0

    async def fails() -> int:
        raise ValueError("no database")

    assert await together(done(1), done(2)) == [1, 2]
    with pytest.raises(ValueError, match="no database"):
        await together(endless(), fails(), endless())
    assert ended == ["endless", "endless"]
