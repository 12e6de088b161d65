"""Positions and shapes in charts of hand-written numbers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markupsafe import Markup
from starlette.requests import Request

from contracts.instants import DAY, parse_instant
from reporting.figures.votes import Votes
from reporting.model.selection import HOUR, TimeSpan
from reporting.pages.charts import Step, interval, over_time, spark, split
from reporting.pages.view import View
from reporting.pages.visits import ZONE_COOKIE, view_of
from reporting.pages.zones import bucket_of, starts, zone_of

UTC = zone_of("UTC")
RECORDED = Path(__file__).parent / "charts.txt"
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


def test_a_release_has_a_line_and_a_label_unless_the_next_label_needs_its_room() -> None:
    steps = [Step(MONDAY + day * DAY, ok=1) for day in range(10)]
    releases = [(MONDAY, "1.0"), (MONDAY + 8 * DAY, "1.1"), (MONDAY + 9 * DAY, "2.0 with a long name")]
    root = drawn(over_time(steps, "day", 700, 300, UTC, releases))
    lines = [one for one in root.findall("line") if one.get("class") == "release"]
    assert [one.findtext("title") for one in lines] == [
        f"first verdict on {name}" for name in ("2.0 with a long name", "1.1", "1.0")
    ]
    labels = [one.text for one in root.findall("text") if one.text and re.match(r"\d\.\d", one.text)]
    assert labels == ["1.1", "1.0"]


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


def test_charts_are_drawn_as_recorded() -> None:
    """`RECORD=1 pytest tests/unit/reporting/test_charts.py` records an intended change; look at it in a browser."""
    counts = [(6, 2, 2), (5, 0, 5), (0, 0, 0), (1, 0, 0), (0, 0, 0), (12_345, 6_000, 0), (0, 0, 7), (3, 1, 0)]
    steps = [Step(MONDAY + n * DAY, *count, href=f"/x?day={n}") for n, count in enumerate(counts)]
    hours = [Step(MONDAY + n * HOUR, ok=n % 3, not_ok=n % 2) for n in range(30)]
    charts = {
        "days": over_time(steps, "day", 450, 300, UTC),
        "a narrow chart of hours": over_time(hours, "hour", 320, 200, zone_of("Asia/Kolkata")),
        "weeks": over_time(steps[:2], "week", 800, 260, UTC),
        "nothing": over_time([], "day", 300, 200, UTC),
        "interval": interval(0.9, 0.05, 1.0),
        "split": split(3, 0, 5),
        "spark": spark([Votes(*count) for count in ((1, 2, 3), (0, 0, 0), (4, 0, 8))]),
        "spark of nothing": spark([Votes(), Votes()]),
    }
    found = "".join(f"{name}\n{str(svg).replace('><', f'>{chr(10)}<')}\n" for name, svg in charts.items())
    if os.environ.get("RECORD"):
        RECORDED.write_text(found, "utf-8")
    assert found.splitlines() == RECORDED.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("count", "top"),
    [(0, "1"), (1, "1"), (2, "2"), (7, "8"), (8, "8"), (9, "10"), (11, "20"), (61, "80"), (9_999, "10k")],
)
def test_the_axis_ends_at_a_round_number(count: int, top: str) -> None:
    texts = [one.text for one in drawn(over_time([Step(MONDAY, ok=count)], "day", 300, 200, UTC)).findall("text")]
    assert texts[3] == top


@pytest.mark.parametrize(
    ("query", "cookie", "zone"),
    [
        ("", None, None),
        ("", "Europe/Berlin", "Europe/Berlin"),
        ("tz=Asia/Kolkata", "Europe/Berlin", "Asia/Kolkata"),
        ("tz=", "Europe/Berlin", "Europe/Berlin"),
        ("", "Nowhere/Land", None),
        ("tz=Asia/Kolkata", None, "Asia/Kolkata"),
    ],
)
def test_the_time_zone_is_that_of_the_url_or_of_the_viewers_cookie(
    query: str, cookie: str | None, zone: str | None
) -> None:
    headers = [(b"cookie", f"{ZONE_COOKIE}={cookie}".encode())] if cookie else []
    request = Request({"type": "http", "query_string": query.encode(), "headers": headers})
    assert view_of(request).zone == zone_of(zone or "UTC")
