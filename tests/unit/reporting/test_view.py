"""Time windows, projects and links of a page, from its URL."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.instants import DAY, MINUTE, parse_instant
from reporting.model.selection import Project, TimeSpan
from reporting.pages.view import PERIODS, View, address, chosen

NOW = parse_instant("2026-09-21T12:00:00Z")
END = NOW + 10 * MINUTE
"""End of the window of a period: feedback may be slightly ahead of this clock."""
SUPPORT, SALES, OTHERS = Project("acme", "support"), Project("acme", "sales"), Project("globex", "support")


def viewed(**said: str) -> View:
    return View.model_validate({name.removesuffix("_"): value for name, value in said.items()})


@pytest.mark.parametrize(("period", "length"), [("24h", DAY), ("7d", 7 * DAY), ("30d", 30 * DAY), ("90d", 90 * DAY)])
def test_a_period_is_compared_with_as_long_a_time_before_it(period: str, length: int) -> None:
    view = viewed(period=period)
    span = view.span(NOW, None)
    assert span == (NOW - length, END)
    assert view.before(span) == (NOW - 2 * length, NOW - length)
    assert view.span_of_answers(span) == span


@pytest.mark.parametrize(
    ("first", "start"), [(None, END - 30 * DAY), (NOW - 400 * DAY, NOW - 400 * DAY), (END, END - 1), (END + 5, END - 1)]
)
def test_all_time_begins_with_the_first_feedback(first: int | None, start: int) -> None:
    view = viewed(period="all")
    span = view.span(NOW, first)
    assert span == (start, END)
    assert view.before(span) is None
    assert view.span_of_answers(span) == (0, END)


def test_a_custom_range_takes_precedence_over_the_period() -> None:
    for period in PERIODS:
        view = viewed(period=period, from_="2026-09-01", to="2026-09-02")
        span = view.span(NOW, 7)
        assert span == (parse_instant("2026-09-01T00:00:00Z"), parse_instant("2026-09-03T00:00:00Z"))
        assert view.before(span) == (span.start - 2 * DAY, span.start)
        assert view.span_of_answers(span) == span
        assert (view.own_range, view.period_name) == (True, "period")
    since = viewed(period="7d", from_="2026-09-20")
    assert since.span(NOW, None) == (parse_instant("2026-09-20T00:00:00Z"), END)
    assert since.own_range
    until, end = viewed(period="7d", to="2026-09-20T10:30"), parse_instant("2026-09-20T10:31:00Z")
    assert until.span(NOW, None) == (end - 7 * DAY, end)
    assert until.own_range
    until_of_all = viewed(period="all", to="2026-09-20T10:30")
    assert until_of_all.span_of_answers(until_of_all.span(NOW, 5)) == (0, end)
    assert until_of_all.before(TimeSpan(end - DAY, end)) == (end - 2 * DAY, end - DAY)
    assert (viewed(period="90d").own_range, viewed(period="90d").period_name) == (False, "90 days")


def test_no_window_begins_before_the_epoch_or_after_its_end() -> None:
    assert viewed(period="7d").span(DAY, None) == (0, DAY + 10 * MINUTE)
    assert viewed(from_="2026-10-01").span(NOW, None) == (END - 1, END), "the range begins in the future"
    custom = viewed(from_="2026-01-01")
    assert custom.before(TimeSpan(DAY, 2 * DAY)) is None
    assert custom.before(TimeSpan(DAY + 1, 2 * DAY + 1)) == (1, DAY + 1)


@pytest.mark.parametrize(
    ("said", "last", "expected"),
    [
        ({"at": "acme/sales"}, "acme/support", SALES),
        ({"at": "acme/nothing"}, "acme/support", None),
        ({"at": "acme/sales", "tenant": "globex", "project": "support"}, None, SALES),
        ({"tenant": "globex", "project": "unknown"}, None, Project("globex", "unknown")),
        ({"tenant": "globex"}, "acme/support", OTHERS),
        ({"tenant": "nobody"}, "acme/support", None),
        ({"project": "sales"}, "globex/support", OTHERS),
        ({}, "globex/support", OTHERS),
        ({}, "globex/gone", SUPPORT),
        ({}, None, SUPPORT),
    ],
)
def test_the_project_is_that_of_the_url_or_the_last_one(
    said: dict[str, str], last: str | None, expected: Project | None
) -> None:
    assert chosen(View.model_validate(said), [SUPPORT, SALES, OTHERS], last) == expected


def test_without_projects_none_is_chosen() -> None:
    assert chosen(View(), [], "acme/support") is None


@pytest.mark.parametrize(
    ("said", "is_narrow"),
    [
        ({"source": "chat"}, True),
        ({"type": "explicit"}, True),
        ({"version": "1"}, True),
        ({"model": "m"}, True),
        ({"reason": "wrong"}, True),
        ({"confidence": "0.5"}, True),
        ({"user": "ann"}, True),
        ({"conversation": "c1"}, True),
        ({"thread": "r1"}, True),
        ({"bundle": "b"}, True),
        ({"track": "t"}, True),
        ({"intent": "buy"}, True),
        ({"strategy": "s"}, True),
        ({"user_type": "human"}, True),
        ({"attributes.arm": "a"}, True),
        ({"attributes.language": "de", "attributes.arm": "a"}, True),
        ({"attributes.language": "de"}, False),
        ({"agent": "bot", "origin": "user", "reaction": "ok", "by": "person", "q": "x", "period": "7d"}, False),
        ({}, False),
    ],
)
def test_more_filters_are_open_if_one_of_them_is_set(said: dict[str, str], is_narrow: bool) -> None:
    assert View.model_validate(said).narrows is is_narrow


@pytest.mark.parametrize(
    ("origin", "origins"),
    [("", None), ("user", ("user",)), ("reviewer", ("reviewer",)), ("machine", ("machine", "reviewer"))],
)
def test_the_machines_side_includes_the_reviews_that_replace_its_verdicts(
    origin: str, origins: tuple[str, ...] | None
) -> None:
    assert viewed(origin=origin).filters.origins == origins


def test_only_the_list_has_search_words() -> None:
    view = viewed(q="refund", agent="bot")
    assert view.filters.words is None
    assert (view.listed.words, view.listed.agent_id) == ("refund", "bot")


ONE_PAGE: dict[str, Any] = {
    "judged": "ok", "bin": "0", "dimension": "model", "chosen_by": "model", "a": "1", "b": "2", "id": "c1",
    "issue": "7", "turn": "t1", "feedback": "0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11",
    "reviewed": "0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11", "audit": "3", "cursor": "1-2-x", "sort": "oldest",
    "stamp": "s", "every": "1", "queue": "1", "last": "c2", "last_turn": "t2", "last_mark": "9",
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_PAGE)
def test_a_link_to_another_page_drops_what_belongs_to_one_page(name: str) -> None:
    said = {"period": "7d", "attributes.arm": "b", "tenant": "globex", "project": "x", name: ONE_PAGE[name]}
    view = View.model_validate(said)
    expected = {"at": "acme/support", "period": "7d", "attributes.arm": "b"}
    assert view.parameters(SUPPORT) == expected
    assert view.parameters(SUPPORT, **{name: 1}) == {**expected, name: 1}


@pytest.mark.parametrize(
    ("parameters", "url"),
    [
        ({}, "/x"),
        ({"a": None, "b": ""}, "/x"),
        ({"a": 0, "b": "c d&e"}, "/x?a=0&b=c+d%26e"),
        ({"at": "acme/support", "from": "2026-09-01T10:30"}, "/x?at=acme%2Fsupport&from=2026-09-01T10%3A30"),
    ],
)
def test_an_address_quotes_its_values_and_leaves_empty_ones_out(parameters: dict[str, Any], url: str) -> None:
    assert address("/x", parameters) == url


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ({"bin": "19"}, True), ({"bin": "20"}, False), ({"bin": "-1"}, False),
        ({"issue": "1"}, True), ({"issue": "0"}, False), ({"issue": str(2**63)}, False),
        ({"issue": str(2**63 - 1)}, True),
        ({"audit": "0"}, True), ({"audit": "-1"}, False), ({"audit": str(2**63)}, False),
        ({"q": "x" * 200}, True), ({"q": "x" * 201}, False), ({"sort": "oldest"}, True), ({"sort": "newest"}, False),
        ({"last_mark": "9" * 18}, True), ({"last_mark": "9" * 19}, False),
        ({f"attributes.n{n}": "x" for n in range(10)}, True), ({f"attributes.n{n}": "x" for n in range(11)}, False),
        ({"attributes.n": "x" * 256}, True), ({"attributes.n": "x" * 257}, False),
        ({"from": "2026-03-01T10:00", "to": "2026-03-01T10:00"}, True),
        ({"from": "2026-03-01T10:01", "to": "2026-03-01T10:00"}, False),
        ({"from": "2026-03-01", "to": "2026-03-01"}, True),
    ],
)  # fmt: skip
def test_filters_have_limits(said: dict[str, str], accepted: bool) -> None:
    try:
        View.model_validate(said)
    except ValueError:
        assert not accepted
    else:
        assert accepted
