"""Agents are ranked by the strongest evidence of being bad, whoever gave it."""

from __future__ import annotations

import pytest

from reporting.figures.ranking import AgentEvidence
from reporting.figures.votes import Votes
from reporting.pages.overview import ranked_agents
from reporting.pages.queries.breakdown import Breakdown

NONE = Votes()
LIKED, MIXED, BAD = Votes(38, 0, 2), Votes(20, 0, 20), Votes(2, 0, 18)


def ordered(*given: AgentEvidence, least: int = 10) -> list[str]:
    return [one.agent_id for one in sorted(given, key=lambda one: one.rank(least))]


def test_the_worst_agent_is_first_whoever_judged_it() -> None:
    by_people, by_machine = AgentEvidence("people", MIXED, NONE), AgentEvidence("machine", LIKED, BAD)
    assert ordered(by_people, by_machine, AgentEvidence("liked", LIKED, LIKED)) == ["machine", "people", "liked"]
    assert (by_people.judged_by(), by_machine.judged_by()) == ("people", "machine")
    assert AgentEvidence("swapped", BAD, LIKED).rank()[1] == by_machine.rank()[1]


def test_sides_are_not_added_up() -> None:
    both = AgentEvidence("both", Votes(6, 0, 4), Votes(6, 0, 4))
    assert both.rank()[1] == AgentEvidence("one", Votes(6, 0, 4), NONE).rank()[1]
    assert both.rank()[1] > Votes(12, 0, 8).sure.high


@pytest.mark.parametrize(("people", "judged_by"), [(Votes(0, 0, 9), None), (Votes(0, 0, 10), "people")])
def test_few_verdicts_come_last(people: Votes, judged_by: str | None) -> None:
    few, liked = AgentEvidence("few", people, Votes(0, 0, 9)), AgentEvidence("liked", LIKED, NONE)
    assert few.judged_by() == judged_by
    assert ordered(few, liked) == (["liked", "few"] if judged_by is None else ["few", "liked"])
    assert ordered(few, liked, least=9) == ["few", "liked"]


def test_the_overview_has_the_same_order() -> None:
    counted = Breakdown()
    given = {"people": (MIXED, NONE), "machine": (LIKED, BAD), "liked": (LIKED, LIKED), "few": (NONE, Votes(0, 0, 3))}
    for agent, (people, machine) in given.items():
        counted.agents["user", agent], counted.agents["machine", agent] = people, machine
    rows = ranked_agents(counted, Breakdown())
    assert [one.agent_id for one in rows] == ordered(*(AgentEvidence(name, *both) for name, both in given.items()))
    assert [(one.origin, one.enough) for one in rows] == [
        ("machine", True),
        ("user", True),
        ("user", True),
        ("machine", False),
    ]
