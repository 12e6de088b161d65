"""Tables and charts of the overview, given hand-written counts."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from contracts.base import Origin
from contracts.instants import DAY, MINUTE, parse_instant
from reporting.figures.votes import Votes
from reporting.model.selection import TimeSpan
from reporting.pages.overview import chart_steps, moved, ranked_agents
from reporting.pages.queries.breakdown import SPARK_STEPS, Breakdown, Version
from reporting.pages.view import View, address

LIKED, BAD = Votes(90, 0, 10), Votes(10, 0, 90)
MONDAY = parse_instant("2026-09-21T00:00:00Z")


def of_agents(given: dict[tuple[Origin, str], Votes]) -> Breakdown:
    counted = Breakdown()
    counted.agents.update(given)
    return counted


def of_versions(given: dict[tuple[Origin, Version], Votes]) -> Breakdown:
    counted = Breakdown()
    counted.versions.update(given)
    return counted


def link(path: str, **changes: Any) -> str:
    return address(path, changes)


def test_a_change_compares_the_verdicts_of_one_side() -> None:
    now = of_agents({("user", "a"): BAD, ("machine", "a"): LIKED, ("user", "same"): LIKED, ("user", "new"): BAD})
    before = of_agents({("user", "a"): LIKED, ("machine", "a"): BAD, ("user", "same"): LIKED, ("user", "old"): BAD})
    found = {(one.what, one.origin): (one.change.was, one.change.now) for one in moved(now, before)}
    assert found == {
        (Version("a", None), "user"): (0.9, 0.1),
        (Version("a", None), "machine"): (0.1, 0.9),
    }


def test_versions_are_compared_with_themselves_and_answers_without_a_version_are_no_version() -> None:
    first, second, unknown = Version("a", "1"), Version("a", "2"), Version("a", None)
    now = of_versions({("user", first): BAD, ("machine", second): LIKED, ("user", unknown): BAD})
    before = of_versions({("user", first): LIKED, ("machine", second): BAD, ("user", unknown): LIKED})
    assert {(one.what, one.origin): one.change.now for one in moved(now, before)} == {
        (first, "user"): 0.1,
        (second, "machine"): 0.9,
    }


def test_a_change_needs_ten_verdicts_in_both_periods_and_certainty() -> None:
    given = {
        "enough": (Votes(10), Votes(0, 0, 10)),
        "few in this period": (Votes(9), Votes(0, 0, 100)),
        "few before": (Votes(100), Votes(0, 0, 9)),
        "may be chance": (Votes(55, 0, 45), Votes(50, 0, 50)),
    }
    now = of_agents({("user", name): votes for name, (votes, _) in given.items()})
    before = of_agents({("user", name): votes for name, (_, votes) in given.items()})
    assert [one.what.agent_id for one in moved(now, before)] == ["enough"]


def test_the_eight_greatest_changes_come_first_in_either_direction() -> None:
    half = Votes(500, 0, 500)
    shares = {f"up {n}": 500 + 40 * n for n in range(1, 6)} | {f"down {n}": 480 - 40 * n for n in range(1, 6)}
    now = of_agents({("user", name): Votes(ok, 0, 1000 - ok) for name, ok in shares.items()})
    before = of_agents({("user", name): half for name in shares})
    names = [f"{way} {n}" for n in range(5, 0, -1) for way in ("down", "up")]
    assert [one.what.agent_id for one in moved(now, before)] == names[:8]


def test_an_agents_row_shows_the_side_that_ranks_it() -> None:
    now = of_agents({("user", "a"): LIKED, ("machine", "a"): BAD})
    now.sparks["user", "a", 3] = Votes(1)
    now.sparks["machine", "a", 0], now.sparks["machine", "a", SPARK_STEPS - 1] = Votes(0, 0, 2), Votes(0, 0, 5)
    before = of_agents({("user", "a"): Votes(0, 0, 20), ("machine", "a"): Votes(20)})
    [row] = ranked_agents(now, before)
    assert (row.agent_id, row.people, row.machine, row.origin, row.ranked) == ("a", LIKED, BAD, "machine", BAD)
    assert row.change is not None and (row.change.was, row.change.now) == (1.0, 0.1)
    assert list(row.steps) == [Votes(0, 0, 2), *[Votes()] * (SPARK_STEPS - 2), Votes(0, 0, 5)]
    assert str(row.spark).count("<rect") == 2
    [alone] = ranked_agents(now, Breakdown())
    assert alone.change is None
    [people] = ranked_agents(of_agents({("user", "a"): BAD, ("machine", "a"): LIKED}), before)
    assert (people.origin, people.ranked) == ("user", BAD)


def test_an_agents_row_names_its_three_versions_with_the_most_verdicts_of_both_sides() -> None:
    now = of_agents({("user", "a"): LIKED, ("user", "b"): LIKED, ("user", "c"): LIKED})
    for origin, agent, version, votes in (
        ("user", "a", "few", Votes(1)),
        ("user", "a", "x", Votes(2)),
        ("user", "a", "w", Votes(0, 1, 1)),
        ("user", "a", "both", Votes(2)),
        ("machine", "a", "both", Votes(0, 0, 2)),
        ("machine", "a", "machine", Votes(0, 0, 3)),
        ("user", "a", None, Votes(50)),
        ("user", "b", "of b", Votes(1)),
        ("user", "b", "also of b", Votes(9)),
        ("user", "b", "again", Votes(8)),
    ):
        now.versions[origin, Version(agent, version)] = votes  # type: ignore[index]
    rows = {one.agent_id: (list(one.versions), one.more_versions) for one in ranked_agents(now, Breakdown())}
    assert rows == {
        "a": (["both", "machine", "w"], 2),
        "b": (["also of b", "again", "of b"], 0),
        "c": ([], 0),
    }


def test_a_step_of_the_chart_leads_to_its_feedback() -> None:
    counted = Breakdown()
    counted.steps["user", 0], counted.steps["machine", 0] = Votes(1, 2, 3), Votes(9)
    counted.steps["user", 2] = Votes(4)
    begins, span = [MONDAY, MONDAY + DAY, MONDAY + 2 * DAY], TimeSpan(MONDAY, MONDAY + 2 * DAY + 90 * MINUTE)
    view = View.model_validate({"tz": "Asia/Kolkata"})
    steps = chart_steps(counted, "user", begins, span, view, link)
    assert [(one.start, one.ok, one.neutral, one.not_ok) for one in steps] == [
        (begins[0], 1, 2, 3),
        (begins[1], 0, 0, 0),
        (begins[2], 4, 0, 0),
    ]
    asked = [parse_qs(urlsplit(one.href or "").query) for one in steps]
    assert [(one["from"], one["to"]) for one in asked] == [
        (["2026-09-21T05:30"], ["2026-09-22T05:29"]),
        (["2026-09-22T05:30"], ["2026-09-23T05:29"]),
        (["2026-09-23T05:30"], ["2026-09-23T06:59"]),
    ]
    assert {urlsplit(one.href or "").path for one in steps} == {"/dashboard/feedback"}
    assert all((one["origin"], one["type"]) == (["user"], ["verdict"]) for one in asked)
    [first, *_] = chart_steps(counted, "machine", begins, span, View(type="inferred"), link)
    assert (first.ok, parse_qs(urlsplit(first.href or "").query)["type"]) == (9, ["inferred"])
