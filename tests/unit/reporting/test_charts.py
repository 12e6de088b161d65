"""Positions and shapes in charts of hand-written numbers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from contracts.instants import DAY, parse_instant
from reporting.dashboard.charts import Step, interval, over_time, split
from reporting.dashboard.view import View
from reporting.dashboard.zones import bucket_of, starts, zone_of
from reporting.queries.selection import TimeSpan

UTC = zone_of("UTC")
MONDAY = parse_instant("2026-09-21T00:00:00Z")


def drawn(svg: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg))


def test_bars_stack_to_the_volume_and_a_gap_breaks_the_line() -> None:
    steps = [Step(MONDAY, ok=6, neutral=2, not_ok=2), Step(MONDAY + DAY, ok=5, not_ok=5), Step(MONDAY + 2 * DAY),
             Step(MONDAY + 3 * DAY, ok=1)]  # fmt: skip
    root = drawn(over_time(steps, "day", 450, 300, UTC))
    groups = root.findall("g")
    assert [g.findtext("title") for g in groups] == [
        "21 Sep 2026: 60% of 10 (6 ok, 2 neutral, 2 not ok)",
        "22 Sep 2026: 50% of 10 (5 ok, 0 neutral, 5 not ok)",
        "23 Sep 2026: no reactions",
        "24 Sep 2026: 100% of 1 (1 ok, 0 neutral, 0 not ok)",
    ]
    heights = [[float(r.get("height", "")) for r in g.findall("rect")[1:]] for g in groups]
    assert heights[0] == pytest.approx([heights[0][1] * 3, heights[0][1], heights[0][1]], abs=0.2)
    assert sum(heights[0]) == pytest.approx(sum(heights[1]), abs=0.2)
    assert heights[2] == []
    assert len(root.findall("polyline")) == 1
    assert len(root.findall("circle")) == 1


def test_a_chart_of_nothing_is_still_a_chart() -> None:
    assert drawn(over_time([], "day", 300, 200, UTC)).findall("g") == []


def test_an_interval_lies_on_its_line() -> None:
    root = drawn(interval(0.5, 0.25, 0.75))
    assert [one.get("cx") for one in root.findall("circle")][:1] == ["200.0"]
    assert (root.findall("line")[-1].get("x1"), root.findall("line")[-1].get("x2")) == ("103.0", "297.0")


def test_a_split_fills_its_bar_or_stays_empty() -> None:
    assert [r.get("width") for r in drawn(split(1, 1, 2)).findall("rect")[1:]] == ["25.00", "25.00", "50.00"]
    assert len(drawn(split(0, 0, 0)).findall("rect")) == 1


def test_no_style_attribute_gets_past_the_page_policy() -> None:
    assert not re.search(r"\sstyle=", str(over_time([Step(MONDAY, ok=1)], "day", 300, 200, UTC)) + str(split(1, 0, 0)))


def test_periods_end_now_and_all_time_begins_with_the_first_reaction() -> None:
    now = MONDAY + 100 * DAY
    assert View(period="7d").span(now, None).start == MONDAY + 93 * DAY
    assert View(period="all").span(now, MONDAY).start == MONDAY
    assert View(period="7d").span(now, None).end > now


@pytest.mark.parametrize(("days", "bucket"), [(1, "hour"), (30, "day"), (200, "week")])
def test_buckets_fit_the_period(days: int, bucket: str) -> None:
    span = TimeSpan(MONDAY, MONDAY + days * DAY)
    assert bucket_of(span) == bucket
    steps = starts(span, bucket, UTC)
    assert steps[0] == MONDAY
    assert 20 <= len(steps) <= 101


def test_an_empty_form_field_is_not_given() -> None:
    view = View.model_validate({"at": "", "origin": "", "agent": "", "other": "x"})
    assert (view.at, view.origin, view.agent, view.period) == (None, None, None, "30d")


def test_a_bar_leads_to_the_feedbacks_in_it_and_its_address_is_escaped() -> None:
    root = drawn(
        over_time([Step(MONDAY, ok=1, href="/x?a=1&b=<2>"), Step(MONDAY + DAY, href="/y")], "day", 300, 200, UTC)
    )
    assert [link.get("href") for link in root.findall("a")] == ["/x?a=1&b=<2>"]
