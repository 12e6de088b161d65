"""Intake of impressions while the registry of turns reads the log: no event names a turn that may be unknown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from contracts.erasure import Person
from contracts.instants import format_instant
from contracts.provenance import Provenance
from contracts.topics import IMPRESSIONS_RECEIVED
from feedback.impressions import ImpressionIntake, ShownPlace
from feedback.rate_limit import LimitReached
from feedback.registry import AgentAnswer, KnownFacts, RegisteredTurn, TurnKey
from feedback.submission import RegistryBehind, UnknownTurn
from servicekit.clock import FixedClock
from tests.support.logs import NOW, RecordingLog

PLACE = ShownPlace("acme", "support", "c1")


class Turns:
    """Registry with some turns of PLACE, and a consumer group that may read further ones before it has read the log."""

    def __init__(self, *known: str, then: tuple[str, ...] = (), passes: bool = True) -> None:
        self.known, self.then, self.passes = {*known}, then, passes

    async def find(self, key: TurnKey, user_id: str) -> KnownFacts:
        if key[:3] != PLACE or key.turn_id not in self.known:
            return KnownFacts()
        made = Provenance(agent_version="2", model="m")
        return KnownFacts(RegisteredTurn(key, AgentAnswer(b"", f"{key.turn_id}-answer", "bot", made)))

    async def look_until_read(self, seconds: float, look: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        self.known |= {*self.then}
        found = await look()
        return found, found is None and self.passes


class Limit:
    """Rate limit that records whom it was asked for, and refuses `eve`."""

    def __init__(self) -> None:
        self.asked: list[Person] = []

    async def take(self, person: Person) -> None:
        self.asked.append(person)
        if person.user_id == "eve":
            raise LimitReached("requests with impressions", 60, 1)


class Intake:
    """Intake of impressions with its fakes."""

    def __init__(self, turns: Turns, judge_at: int | None = None) -> None:
        self.log, self.limit = RecordingLog(), Limit()
        fakes: Any = (turns, turns, self.log, FixedClock(NOW), self.limit)
        self._intake = ImpressionIntake(*fakes, judge_at=judge_at, wait_seconds=2)

    async def take(self, *turn_ids: str, user: str = "ann", limited: bool = True) -> int:
        return await self._intake.take(PLACE, user, turn_ids, limited=limited)

    @property
    def published(self) -> list[list[str]]:
        """Turns of each event."""
        events = self.log.values(IMPRESSIONS_RECEIVED.name)
        return [[turn["turnId"] for turn in event["turns"]] for event in events]


async def test_the_event_has_each_known_turn_once_with_its_agent() -> None:
    intake = Intake(Turns("t1", "t2"))
    assert await intake.take("t2", "t9", "t1", "t2") == 2
    [event] = intake.log.values(IMPRESSIONS_RECEIVED.name)
    place = {"tenant": "acme", "project": "support", "conversationId": "c1", "userId": "ann"}
    assert place.items() <= event.items() and event["occurredAt"] == format_instant(NOW)
    made = {"agentId": "bot", "agentVersion": "2", "model": "m"}
    assert event["turns"] == [{"turnId": "t2", **made}, {"turnId": "t1", **made}]
    assert intake.log.messages[0].key == "acme/support/c1"


@pytest.mark.parametrize(("judge_at", "counts"), [(NOW - 1, NOW - 1), (NOW + 1, NOW)])
async def test_impressions_are_not_later_than_the_day_of_the_files(judge_at: int, counts: int) -> None:
    intake = Intake(Turns("t1"), judge_at)
    await intake.take("t1")
    [event] = intake.log.values(IMPRESSIONS_RECEIVED.name)
    assert event["occurredAt"] == format_instant(counts)


async def test_a_turn_that_is_read_meanwhile_is_known() -> None:
    intake = Intake(Turns("t1", then=("t2",), passes=False))
    assert await intake.take("t1", "t2") == 2
    assert intake.published == [["t1", "t2"]]


async def test_nothing_is_published_while_a_turn_may_become_known() -> None:
    intake = Intake(Turns("t1", passes=False))
    with pytest.raises(RegistryBehind):
        await intake.take("t1", "t2")
    assert intake.log.messages == []


async def test_without_a_known_turn_nothing_is_published_but_the_request_counts() -> None:
    """Otherwise a caller could look up turns without limit."""
    intake = Intake(Turns("t1"))
    with pytest.raises(UnknownTurn):
        await intake.take("t2", "t3")
    assert (intake.log.messages, intake.limit.asked) == ([], [Person("acme", "ann")])


async def test_above_the_limit_nothing_is_looked_up_or_published() -> None:
    intake = Intake(Turns("t1"))
    with pytest.raises(LimitReached):
        await intake.take("t2", user="eve")
    with pytest.raises(LimitReached):
        await intake.take("t1", user="eve")
    assert intake.log.messages == []
    assert await intake.take("t1", user="eve", limited=False) == 1
    assert intake.limit.asked == [Person("acme", "eve")] * 2
