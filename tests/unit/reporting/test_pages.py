"""Tables and charts of the overview, given hand-written counts."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from contracts.base import Origin
from contracts.instants import DAY, MINUTE, parse_instant
from reporting.alerts.rules import AlertRule
from reporting.figures.votes import Votes
from reporting.model.selection import ConversationScope, Project, TimeSpan
from reporting.pages.alerts import rule_in_words
from reporting.pages.breakdown import SPARK_STEPS, Breakdown, Version, chart_steps
from reporting.pages.conversation import ConversationPage, Transcript, TranscriptMessage, by_thread
from reporting.pages.overview import ranked_agents, significant_changes
from reporting.pages.rendering import reasons_shown
from reporting.pages.view import PERIODS, View, address, chosen, path_of, trace_url

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
    found = {(one.what, one.origin): (one.change.was, one.change.now) for one in significant_changes(now, before)}
    assert found == {
        (Version("a", None), "user"): (0.9, 0.1),
        (Version("a", None), "machine"): (0.1, 0.9),
    }


def test_versions_are_compared_with_themselves_and_answers_without_a_version_are_no_version() -> None:
    first, second, unknown = Version("a", "1"), Version("a", "2"), Version("a", None)
    now = of_versions({("user", first): BAD, ("machine", second): LIKED, ("user", unknown): BAD})
    before = of_versions({("user", first): LIKED, ("machine", second): BAD, ("user", unknown): LIKED})
    assert {(one.what, one.origin): one.change.now for one in significant_changes(now, before)} == {
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
    assert [one.what.agent_id for one in significant_changes(now, before)] == ["enough"]


def test_the_eight_greatest_changes_come_first_in_either_direction() -> None:
    half = Votes(500, 0, 500)
    shares = {f"up {n}": 500 + 40 * n for n in range(1, 6)} | {f"down {n}": 480 - 40 * n for n in range(1, 6)}
    now = of_agents({("user", name): Votes(ok, 0, 1000 - ok) for name, ok in shares.items()})
    before = of_agents({("user", name): half for name in shares})
    names = [f"{way} {n}" for n in range(5, 0, -1) for way in ("down", "up")]
    assert [one.what.agent_id for one in significant_changes(now, before)] == names[:8]


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
    counts = [Votes(1, 2, 3), Votes(), Votes(4)]
    assert [(one.start, one.votes) for one in steps] == list(zip(begins, counts, strict=True))
    asked = [parse_qs(urlsplit(one.href or "").query) for one in steps]
    assert [(one["from"], one["to"]) for one in asked] == [
        (["2026-09-21T05:30"], ["2026-09-22T05:29"]),
        (["2026-09-22T05:30"], ["2026-09-23T05:29"]),
        (["2026-09-23T05:30"], ["2026-09-23T06:59"]),
    ]
    assert {urlsplit(one.href or "").path for one in steps} == {"/dashboard/feedback"}
    assert all((one["origin"], one["feedback_type"]) == (["user"], ["verdict"]) for one in asked)
    later = TimeSpan(MONDAY + 90 * MINUTE, span.end)
    [first, *_] = chart_steps(counted, "machine", begins, later, View(feedback_type="inferred", tz="UTC"), link)
    led = parse_qs(urlsplit(first.href or "").query)
    assert (first.votes.ok, led["feedback_type"], led["from"]) == (9, ["inferred"], ["2026-09-21T01:30"])


# Time windows, projects and links of a page, from its URL.

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
        ({"at": "acme/nothing"}, "acme/support", Project("acme", "nothing")),
        ({}, "globex/support", OTHERS),
        ({}, "globex/gone", SUPPORT),
        ({}, None, SUPPORT),
    ],
)
def test_the_project_is_that_of_the_url_or_the_last_one(
    said: dict[str, str], last: str | None, expected: Project | None
) -> None:
    assert chosen(View.model_validate(said), [SUPPORT, SALES, OTHERS], last) == expected


@pytest.mark.parametrize(
    ("parameters", "chips"),
    [
        ({}, []),
        ({"period": "30d", "issue": "7"}, []),
        ({"agent_id": "bot", "reaction": "not_ok"}, [("agent_id", "bot"), ("reaction", "Not OK")]),
        ({"origin": "reviewer", "min_confidence": "0.9"}, [("origin", "Reviewers"), ("min_confidence", "90%")]),
        ({"attributes.arm": "a", "words": "refund"}, [("words", "refund"), ("attributes.arm", "a")]),
        ({"judged": "any", "confidence_bin": "18"}, [("judged", "any"), ("confidence_bin", "90% to 95%")]),
    ],
)
def test_each_filter_that_is_set_has_a_chip(parameters: dict[str, str], chips: list[tuple[str, str]]) -> None:
    assert [(chip.name, chip.value) for chip in View.model_validate(parameters).chips] == chips


@pytest.mark.parametrize(("origin", "origins"), [("", None), ("machine", ("machine",))])
def test_a_chosen_origin_is_the_only_one(origin: str, origins: tuple[str, ...] | None) -> None:
    assert viewed(origin=origin).filters.origins == origins


def test_only_the_list_has_search_words() -> None:
    view = viewed(words="refund", agent_id="bot")
    assert view.filters.words is None
    assert (view.listed.words, view.listed.agent_id) == ("refund", "bot")


ONE_PAGE: dict[str, Any] = {
    "dimension": "model", "a": "1", "b": "2", "id": "c1",
    "issue": "7", "turn": "t1", "feedback": "0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11",
    "reviewed": "0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11", "audit": "3", "cursor": "1-2-x",
    "queue": "1", "after": "9",
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_PAGE)
def test_a_link_to_another_page_drops_what_belongs_to_one_page(name: str) -> None:
    said = {"period": "30d", "attributes.arm": "b", name: ONE_PAGE[name]}
    view = View.model_validate(said)
    expected = {"at": "acme/support", "period": "30d", "attributes.arm": "b"}
    assert view.parameters(SUPPORT) == expected


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
        ({"confidence_bin": "19"}, True), ({"confidence_bin": "20"}, False), ({"confidence_bin": "-1"}, False),
        ({"issue": "1"}, True), ({"issue": str(2**63)}, False),
        ({"audit": "0"}, True), ({"words": "x" * 200}, True), ({"words": "x" * 201}, False),
        ({"after": "9" * 18}, True), ({"after": "9" * 19}, False),
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


# Sentences of the conversation page about the feedback in its transcript.

PLACE = ConversationScope("acme", "sup/port", "c/1 ä")


SHOWN, STRAY, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)


def line(name: str, thread: str = "", **fields: Any) -> TranscriptMessage:
    values: dict[str, Any] = {
        "turn_id": "t1",
        "sender_type": "agent",
        "sender_id": "bot",
        "agent_id": "bot",
        "agent_version": None,
    }
    return TranscriptMessage(
        message_id=name, thread=thread, trace_id=None, content="Hello.", occurred_at=0, **values, **fields
    )


def page(**changes: Any) -> ConversationPage:
    shown = Transcript([line("a1", reactions=[{"feedback_id": SHOWN}])], [{"feedback_id": STRAY}], cut=False)
    values: dict[str, Any] = {
        "conversation": PLACE, "shown": shown, "newer": None, "older": None, "reviewer": "rita",
        "trace_url_template": "https://traces.example/{trace_id}", "came_from": None,
    }  # fmt: skip
    return ConversationPage(**values | changes)


@pytest.mark.parametrize(
    ("reactions", "expected"),
    [
        ([("reviewer", "rita")], True),
        ([("user", "ann"), ("reviewer", "rita")], True),
        ([("reviewer", "rob")], False),
        ([("user", "rita")], False),
        ([("machine", "rita"), ("reviewer", "rob")], False),
        ([], False),
    ],
)
def test_a_review_can_be_retracted_by_its_reviewer(reactions: list[tuple[str, str]], expected: bool) -> None:
    assert page().has_reviewed([{"origin": origin, "user_id": user} for origin, user in reactions]) is expected


@pytest.mark.parametrize(("feedback_id", "expected"), [(SHOWN, True), (STRAY, True), (OTHER, False)])
def test_a_page_knows_which_feedback_it_shows(feedback_id: UUID, expected: bool) -> None:
    assert page().shows(feedback_id) is expected


def test_the_paths_of_a_conversation_quote_its_ids() -> None:
    path = "/conversations/acme/sup%2Fport/c%2F1%20%C3%A4/turns/t%2F1/reviews"
    assert page().review_path("t/1") == path
    assert path_of("/x/{tenant}/{project}", Project("a/b", "c d")) == "/x/a%2Fb/c%20d"


@pytest.mark.parametrize(
    ("template", "trace", "url"),
    [
        ("https://traces.example/{trace_id}/view", "tr/1", "https://traces.example/tr%2F1/view"),
        ("https://traces.example/{trace_id}", None, None),
        ("https://traces.example/{trace_id}", "", None),
        (None, "tr/1", None),
    ],
)
def test_a_trace_has_a_url_if_both_are_known(template: str | None, trace: str | None, url: str | None) -> None:
    assert trace_url(template, trace) == url
    assert page(trace_url_template=template).trace(trace) == url


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("r1", ""), ("r2", ""), ("a", "r1"), ("b", "r2"), ("c", "r1")], ["r1", "a", "c", "r2", "b"]),
        ([("a", "gone"), ("r1", ""), ("b", "gone"), ("c", "r1")], ["a", "b", "r1", "c"]),
        ([("r1", ""), ("a", "gone"), ("b", "gone2"), ("c", "gone")], ["r1", "a", "c", "b"]),
        ([("a", "r1"), ("r1", ""), ("b", "r1")], ["r1", "a", "b"]),
        ([("a", "b"), ("b", "c"), ("r", "")], ["a", "b", "r"]),
        ([("a", ""), ("b", "")], ["a", "b"]),
        ([], []),
    ],
)
def test_a_thread_follows_its_root_and_nothing_is_lost(given: list[tuple[str, str]], expected: list[str]) -> None:
    assert [one.message_id for one in by_thread([line(name, thread) for name, thread in given])] == expected


# Pages show reasons in words: people's tags, and descriptions of the machine's rules.


def test_a_rule_is_shown_as_what_it_found() -> None:
    machine = {"origin": "machine", "tags": ["rule.gives_up", "rule.same_request", "no.such_rule"]}
    assert reasons_shown(machine) == ["gives up", "asks the same again"]


def test_a_persons_tag_is_shown_as_it_is() -> None:
    assert reasons_shown({"origin": "user", "tags": ["too_slow", "en.never mind"]}) == ["too slow", "en.never mind"]


# Alert rules as sentences.

RULE: TypeAdapter[Any] = TypeAdapter(AlertRule)


SATISFACTION: dict[str, Any] = {"kind": "satisfaction_below", "below": 0.755}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (SATISFACTION, "Satisfaction with each agent is below 75.5% (people's verdicts, up to 7 days)."),
        (
            SATISFACTION | {"agent": "bot", "verdicts": "machine", "days": 3},
            "Satisfaction with bot is below 75.5% (machine verdicts, up to 3 days).",
        ),
        (
            {"kind": "satisfaction_dropped", "per": "version"},
            "Satisfaction with each version of each agent dropped from the 28 days before (people's verdicts, up to 7"
            " days).",
        ),
        (
            {"kind": "satisfaction_dropped", "agent": "bot", "verdicts": "machine"},
            "Satisfaction with bot dropped from the 28 days before (machine verdicts, up to 7 days).",
        ),
        (
            {"kind": "silence", "hours": 5, "least": 30},
            "No feedback for 5 hours, but at least 30 verdicts a week before.",
        ),
        (
            {"kind": "new_issue", "people": 1, "days": 3},
            "An issue affects 1 person or more, and its first rejection is at most 3 days old.",
        ),
        ({"kind": "regressed_issue"}, "A resolved issue came back."),
    ],
)
def test_a_rule_is_described_in_a_sentence(rule: dict[str, Any], words: str) -> None:
    made = RULE.validate_python(rule | {"name": "mine", "channels": ["team"]})
    assert rule_in_words(made) == words
