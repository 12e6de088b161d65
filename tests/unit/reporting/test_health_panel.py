"""The dashboard's health panel, given the state that its composition reports."""

from __future__ import annotations

import pytest

from reporting.dashboard.health import HealthFacts, SharedHealth, health_facts
from reporting.dashboard.rendering import page
from tests.support.hand_clock import HandClock


async def test_warnings_are_shown_as_sentences() -> None:
    async def health() -> dict[str, object]:
        return {"lag": {"feedback": 3}, "warnings": ["feedback: 9 records of <b> were deleted"]}

    facts = await health_facts(health)
    assert facts.warnings == ("feedback: 9 records of <b> were deleted",)
    shown = bytes(page("empty.html", health=facts, base="http://af.example").body).decode()
    assert "feedback: 9 records of &lt;b&gt; were deleted." in shown


async def test_the_largest_counts_come_first() -> None:
    async def health() -> dict[str, object]:
        return {"lag": {"b": 3, "a": 3, "c": 900}, "parked": 0, "dead_letters": {"x": "1", "y": 4}}

    facts = await health_facts(health)
    assert list(facts.lag.items()) == [("c", 900), ("a", 3), ("b", 3)]
    assert list(facts.dead_letters.items()) == [("y", 4), ("x", 1)]
    assert (facts.total_lag, facts.parked, facts.total_dead_letters) == (906, 0, 5)
    assert (facts.known, facts.failed, facts.warnings) == (True, False, ())


async def test_facts_that_are_missing_are_unknown_or_none() -> None:
    async def health() -> dict[str, object]:
        return {"lag": "not read"}

    assert await health_facts(health) == HealthFacts(lag={}, parked=None, dead_letters={})
    assert await health_facts(None) == HealthFacts(known=False)


@pytest.mark.parametrize(("lag", "is_behind"), [({}, False), ({"a": 500, "b": 500}, False), ({"a": 1_001}, True)])
def test_more_than_a_thousand_waiting_records_are_behind(lag: dict[str, int], is_behind: bool) -> None:
    assert HealthFacts(lag=lag).behind is is_behind


async def test_health_is_read_again_after_three_seconds_or_if_the_clock_was_set_back() -> None:
    clock, reads = HandClock(), 0

    async def health() -> dict[str, object]:
        nonlocal reads
        reads += 1
        return {"parked": reads}

    shared, found = SharedHealth(health, clock), []
    for seconds in (0, 0, 2.999, 0.001, 0, 2, -3, 0):
        clock.forward(seconds)
        found.append((await shared.facts()).parked)
    assert found == [1, 1, 1, 2, 2, 2, 3, 3]
