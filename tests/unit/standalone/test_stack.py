"""The services of one process: readiness, lag, facts, and the end of accepted work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servicekit.errors import LogUnavailable
from servicekit.service import Service, ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.one_process import stack as stack_module
from standalone.one_process.stack import PROGRAMS, Stack, together
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
    stack = Stack(AROUND, "", backpressure)
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


class Intake:
    """Producer that records its start and stop."""

    def __init__(self, events: list[str]) -> None:
        self._events = events

    async def start(self) -> None:
        self._events.append("intake starts")

    async def stop(self) -> None:
        self._events.append("intake stops")


def building(name: str, events: list[str], given: dict[str, tuple[Any, ...]]) -> Callable[..., Awaitable[Service]]:
    """Return the build function of a program, whose service reads as a group of its own name."""

    class Recorded(Service):
        async def start(self) -> None:
            events.append(f"{name} starts")

        async def stop(self) -> None:
            events.append(f"{name} stops")

    async def build(settings: Any, around: ServiceContext, *more: Any) -> Service:
        given[name] = (settings, *more)
        service: Any = Recorded(name, around)
        service.subscriptions.append(SimpleNamespace(group=name))
        service.authenticators.append(f"tokens of {name}")
        return cast(Service, service)

    return build


async def test_a_stack_starts_and_stops_all_services_with_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    given: dict[str, tuple[Any, ...]] = {}
    for program in PROGRAMS:
        module = getattr(stack_module, program.name).service
        monkeypatch.setattr(module, "PROGRAM", SimpleNamespace(build=building(program.name, events, given)))
    monkeypatch.setattr(stack_module, "BatchProducer", lambda *_, **__: Intake(events))
    monkeypatch.setenv("REPORTING_PRIVATE_CHANNELS", "false")
    backpressure = Backpressure()
    defaults = {"private_channels": True}
    stack = Stack(AROUND, "postgresql://x", backpressure, reporting=defaults)
    await stack.start()
    names = ["chat_bridge", "feedback", "inference", "reporting"]
    assert list(stack.services) == names == stack.groups
    assert events == ["intake starts", *(f"{name} starts" for name in names)]
    assert backpressure.groups == frozenset(names)
    assert stack.authenticators == [f"tokens of {name}" for name in names]  # type: ignore[comparison-overlap]  # a stub
    settings = {name: found[0] for name, found in given.items()}
    assert {one.database_url for one in settings.values()} == {settings["feedback"].store_url} == {"postgresql://x"}
    assert {one.broker for one in settings.values()} == {"localhost:1"}
    reporting = settings["reporting"]
    assert reporting.private_channels is False, "a setting of the operator goes before a default"
    await stack.stop()
    assert events[5:] == ["intake stops", *(f"{name} stops" for name in names)]
    with pytest.raises(LogUnavailable):
        await backpressure.moved()


async def test_a_stack_that_fails_to_start_stops_what_it_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    async def fails(*_: object) -> Service:
        raise ValueError("no database")

    for program in PROGRAMS:
        build = fails if program.name == "reporting" else building(program.name, events, {})
        monkeypatch.setattr(getattr(stack_module, program.name).service, "PROGRAM", SimpleNamespace(build=build))
    monkeypatch.setattr(stack_module, "BatchProducer", lambda *_, **__: Intake(events))
    stack = Stack(AROUND, "postgresql://x")
    with pytest.raises(ValueError, match="no database"):
        await stack.start()
    await stack.stop()
    assert events == ["intake stops", "chat_bridge stops", "feedback stops", "inference stops"]
