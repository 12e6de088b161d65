"""Sort orders of lists."""

from __future__ import annotations

import pytest

from reporting.dashboard.sorting import sorting
from reporting.queries.ranking import AgentEvidence
from reporting.queries.sorting import VOTES_COLUMNS as COLUMNS
from reporting.queries.sorting import SortOrder, UnknownColumn, in_order
from reporting.queries.votes import Votes

NUMBER = {"number": lambda one, _: one[1]}


def test_rows_without_a_value_come_last_in_both_directions() -> None:
    rows = [("a", None), ("b", 2), ("c", 1)]
    assert [name for name, _ in in_order(rows, SortOrder("number", descending=False), NUMBER)] == ["c", "b", "a"]
    assert [name for name, _ in in_order(rows, SortOrder("number", descending=True), NUMBER)] == ["b", "c", "a"]


@pytest.mark.parametrize("descending", [False, True])
def test_equal_rows_keep_the_default_order(descending: bool) -> None:
    rows = [("z", 1), ("a", 1), ("m", 1)]
    assert in_order(rows, SortOrder("number", descending), NUMBER) == rows
    assert in_order(rows, None, NUMBER) == rows


def test_few_votes_are_neither_the_worst_nor_the_best() -> None:
    many, none = Votes(ok=90, not_ok=10), Votes()
    rows = [
        AgentEvidence("one bad", Votes(not_ok=1), none),
        AgentEvidence("bad", Votes(ok=30, not_ok=70), none),
        AgentEvidence("one good", Votes(ok=1), none),
        AgentEvidence("good", many, none),
        AgentEvidence("unjudged", none, many),
    ]
    worst = [one.agent_id for one in in_order(rows, SortOrder("people", descending=False), COLUMNS)]
    best = [one.agent_id for one in in_order(rows, SortOrder("people", descending=True), COLUMNS)]
    assert (worst[0], best[0]) == ("bad", "good")
    assert worst[-1] == best[-1] == "unjudged"


def test_numbers_of_both_sides_are_added() -> None:
    rows = [
        AgentEvidence("a", Votes(ok=9), Votes(not_ok=1)),
        AgentEvidence("b", Votes(not_ok=2), Votes(not_ok=3)),
    ]
    assert [one.agent_id for one in in_order(rows, SortOrder.parse("-rejected", COLUMNS), COLUMNS)] == ["b", "a"]
    assert [one.agent_id for one in in_order(rows, SortOrder.parse("-total", COLUMNS), COLUMNS)] == ["a", "b"]


@pytest.mark.parametrize("text", ["", "-", "--turns", "Turns", "turns desc", "turns,people", "; drop table issues"])
def test_an_order_names_one_column_of_the_list(text: str) -> None:
    with pytest.raises(UnknownColumn):
        SortOrder.parse(text, ("turns", "people"))


def test_a_second_click_turns_the_order_around() -> None:
    head = sorting("-turns", ("turns", "people"), lambda text: f"/?sort={text}")
    assert (head.state("turns"), head.state("people")) == ("descending", None)
    assert (head.href("turns"), head.href("people")) == ("/?sort=turns", "/?sort=-people")
    assert head.href("people", descending=False) == "/?sort=people"
