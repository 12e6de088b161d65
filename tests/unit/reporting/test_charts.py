"""Positions and shapes in charts of hand-written numbers."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from pydantic import ValidationError
from starlette.requests import Request

from contracts.instants import DAY, MINUTE, SECOND, parse_instant
from reporting.figures.votes import Votes
from reporting.model.selection import HOUR, Bucket, TimeSpan
from reporting.pages.charts import Step, interval, over_time, spark, split
from reporting.pages.view import View
from reporting.pages.visits import ZONE_COOKIE, view_of
from reporting.pages.zones import (
    MOST_STEPS,
    bucket_of,
    known_zones,
    local,
    moment_of,
    offset_text,
    parse_local,
    starts,
    zone_of,
)

UTC = zone_of("UTC")


RECORDED = Path(__file__).parent / "charts.txt"


MONDAY = parse_instant("2026-09-21T00:00:00Z")


def drawn(svg: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg))


def test_bars_stack_to_the_volume_and_a_gap_breaks_the_line() -> None:
    counts = [(6, 2, 2), (5, 0, 5), (0, 0, 0), (1, 0, 0)]
    steps = [Step(MONDAY + n * DAY, Votes(*count)) for n, count in enumerate(counts)]
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


def test_no_style_attribute_gets_past_the_page_policy() -> None:
    assert not re.search(
        r"\sstyle=", str(over_time([Step(MONDAY, Votes(1))], "day", 300, 200, UTC)) + str(split(Votes(1)))
    )


def test_an_empty_form_field_is_not_given() -> None:
    view = View.model_validate({"at": "", "origin": "", "agent_id": "", "other": "x"})
    assert (view.named_project, view.origin, view.agent_id, view.period) == (None, None, None, "7d")


def test_a_bar_leads_to_the_feedbacks_in_it_and_its_address_is_escaped() -> None:
    steps = [Step(MONDAY, Votes(1), href="/x?a=1&b=<2>"), Step(MONDAY + DAY, Votes(), href="/y")]
    root = drawn(over_time(steps, "day", 300, 200, UTC))
    assert [link.get("href") for link in root.findall("a")] == ["/x?a=1&b=<2>"]


def test_charts_are_drawn_as_recorded() -> None:
    """`RECORD=1 pytest tests/unit/reporting/test_charts.py` records an intended change; look at it in a browser."""
    counts = [(6, 2, 2), (5, 0, 5), (0, 0, 0), (1, 0, 0), (0, 0, 0), (12_345, 6_000, 0), (0, 0, 7), (3, 1, 0)]
    steps = [Step(MONDAY + n * DAY, Votes(*count), href=f"/x?day={n}") for n, count in enumerate(counts)]
    hours = [Step(MONDAY + n * HOUR, Votes(n % 3, 0, n % 2)) for n in range(30)]
    charts = {
        "days": over_time(steps, "day", 450, 300, UTC),
        "a narrow chart of hours": over_time(hours, "hour", 320, 200, zone_of("Asia/Kolkata")),
        "weeks": over_time(steps[:2], "week", 800, 260, UTC),
        "nothing": over_time([], "day", 300, 200, UTC),
        "interval": interval(0.9, 0.05, 1.0),
        "split": split(Votes(3, 0, 5)),
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
    texts = [one.text for one in drawn(over_time([Step(MONDAY, Votes(count))], "day", 300, 200, UTC)).findall("text")]
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


# Days and hours of a time zone, including the shorter and the longer day of a year.

BERLIN = zone_of("Europe/Berlin")


ZONE_HOUR = 60 * MINUTE


def test_days_begin_at_the_zones_midnight_even_where_clocks_change() -> None:
    span = TimeSpan(parse_instant("2026-10-24T12:00:00Z"), parse_instant("2026-10-26T12:00:00Z"))
    begins = starts(span, "day", BERLIN)
    assert [f"{local(one, BERLIN):%d %H:%M}" for one in begins] == ["24 00:00", "25 00:00", "26 00:00"]
    assert [b - a for a, b in pairwise(begins)] == [DAY, 25 * ZONE_HOUR]


@pytest.mark.parametrize(
    ("end", "days"),
    [("2026-09-22T22:00:00Z", ["21", "22"]), ("2026-09-22T22:00:01Z", ["21", "22", "23"])],
)
def test_a_span_that_ends_at_midnight_has_no_step_after_it(end: str, days: list[str]) -> None:
    span = TimeSpan(parse_instant("2026-09-20T22:00:00Z"), parse_instant(end))  # from midnight in Berlin
    assert [f"{local(one, BERLIN):%d}" for one in starts(span, "day", BERLIN)] == days


def test_hours_begin_at_the_zones_full_hour() -> None:
    span = TimeSpan(parse_instant("2026-09-21T10:45:59Z"), parse_instant("2026-09-21T12:30:00Z"))
    kolkata = [f"{local(one, zone_of('Asia/Kolkata')):%H:%M}" for one in starts(span, "hour", zone_of("Asia/Kolkata"))]
    assert kolkata == ["16:00", "17:00"]
    assert starts(span, "hour", BERLIN) == [parse_instant(f"2026-09-21T{hour}:00:00Z") for hour in (10, 11, 12)]


@pytest.mark.parametrize(("bucket", "width"), [("hour", ZONE_HOUR), ("day", DAY), ("week", 7 * DAY)])
def test_of_more_steps_than_a_chart_has_room_for_the_newest_are_kept(bucket: Bucket, width: int) -> None:
    monday = parse_instant("2026-09-21T00:00:00Z")
    for count in (MOST_STEPS, MOST_STEPS + 1, MOST_STEPS + 5):
        begins = starts(TimeSpan(monday - count * width, monday), bucket, zone_of("UTC"))
        assert begins == [monday - number * width for number in range(MOST_STEPS, 0, -1)]


@pytest.mark.parametrize(
    ("length", "bucket"),
    [(60 * ZONE_HOUR, "hour"), (60 * ZONE_HOUR + 1, "day"), (100 * DAY, "day"), (100 * DAY + 1, "week")],
)
def test_longer_spans_have_wider_steps(length: int, bucket: Bucket) -> None:
    start = parse_instant("2026-09-21T00:00:00Z")
    assert bucket_of(TimeSpan(start, start + length)) == bucket


def test_no_time_is_before_the_epoch() -> None:
    epoch = local(0, BERLIN)
    assert [moment_of(epoch.replace(hour=hour)) for hour in (0, 1, 2)] == [0, 0, ZONE_HOUR]
    assert local(5 * SECOND + 999_999, BERLIN) == epoch.replace(second=5)


@pytest.mark.parametrize(
    ("text", "last", "moment"),
    [
        ("2026-09-21T09:30", False, "2026-09-21T07:30:00Z"),
        ("2026-09-21T09:30", True, "2026-09-21T07:31:00Z"),
        ("2026-09-21", False, "2026-09-20T22:00:00Z"),
        ("2026-09-21", True, "2026-09-21T22:00:00Z"),
        ("2026-10-25", True, "2026-10-25T23:00:00Z"),  # a day of 25 hours
    ],
)
def test_the_end_of_a_local_day_or_minute_is_the_start_of_the_next(text: str, last: bool, moment: str) -> None:
    assert parse_local(text, BERLIN, last=last) == parse_instant(moment)


def test_weeks_begin_on_monday_of_the_zone() -> None:
    monday = "2026-09-20T22:30:00Z"  # 00:30 in Berlin
    span = TimeSpan(parse_instant(monday), parse_instant("2026-10-01T00:00:00Z"))
    assert [f"{local(one, BERLIN):%a %d %H:%M}" for one in starts(span, "week", BERLIN)] == [
        "Mon 21 00:00",
        "Mon 28 00:00",
    ]


@given(
    st.integers(0, 200 * 365 * DAY),
    st.integers(1, 3 * 365 * DAY),
    st.sampled_from(
        ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"]
    ),
)
def test_every_moment_of_a_span_lies_in_one_step(start: int, length: int, name: str) -> None:
    span, zone = TimeSpan(start, start + length), zone_of(name)
    begins = starts(span, bucket_of(span), zone)
    assert begins == sorted(set(begins))
    assert len(begins) <= MOST_STEPS
    assert begins[0] <= span.start
    assert begins[-1] < span.end


@pytest.mark.parametrize(
    "said",
    [
        {"from": "2026-13-01"},
        {"from": "yesterday"},
        {"to": "2026-02-30"},
        {"from": "2026-03-02", "to": "2026-03-01"},
        {"tz": "Mars/Olympus"},
        {"tz": "../../etc/passwd"},
        {"min_confidence": "7"},
    ],
)
def test_a_state_that_makes_no_sense_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        View.model_validate(said)


def test_an_unknown_zone_is_utc_and_an_offset_reads_as_such() -> None:
    assert zone_of("Nowhere").key == "UTC"
    assert "Europe/Berlin" in known_zones()
    winter = parse_instant("2026-01-01T00:00:00Z")
    offsets = {
        "UTC": "UTC",
        "Europe/Berlin": "UTC+01:00",
        "America/New_York": "UTC−05:00",
        "America/St_Johns": "UTC−03:30",
        "Asia/Kolkata": "UTC+05:30",
    }
    assert {name: offset_text(winter, zone_of(name)) for name in offsets} == offsets
    assert parse_local("2026-01-01", BERLIN, last=False) == winter - ZONE_HOUR
