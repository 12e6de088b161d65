"""Days and hours of a time zone, including the shorter and the longer day of a year."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.instants import DAY, MINUTE, SECOND, parse_instant
from reporting.model.selection import Bucket, Project, TimeSpan
from reporting.pages.view import View
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

BERLIN = zone_of("Europe/Berlin")
HOUR = 60 * MINUTE


def test_days_begin_at_the_zones_midnight_even_where_clocks_change() -> None:
    span = TimeSpan(parse_instant("2026-10-24T12:00:00Z"), parse_instant("2026-10-26T12:00:00Z"))
    begins = starts(span, "day", BERLIN)
    assert [f"{local(one, BERLIN):%d %H:%M}" for one in begins] == ["24 00:00", "25 00:00", "26 00:00"]
    assert [b - a for a, b in pairwise(begins)] == [DAY, 25 * HOUR]


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


@pytest.mark.parametrize(("bucket", "width"), [("hour", HOUR), ("day", DAY), ("week", 7 * DAY)])
def test_of_more_steps_than_a_chart_has_room_for_the_newest_are_kept(bucket: Bucket, width: int) -> None:
    monday = parse_instant("2026-09-21T00:00:00Z")
    for count in (MOST_STEPS, MOST_STEPS + 1, MOST_STEPS + 5):
        begins = starts(TimeSpan(monday - count * width, monday), bucket, zone_of("UTC"))
        assert begins == [monday - number * width for number in range(MOST_STEPS, 0, -1)]


@pytest.mark.parametrize(
    ("length", "bucket"),
    [(60 * HOUR, "hour"), (60 * HOUR + 1, "day"), (100 * DAY, "day"), (100 * DAY + 1, "week")],
)
def test_longer_spans_have_wider_steps(length: int, bucket: Bucket) -> None:
    start = parse_instant("2026-09-21T00:00:00Z")
    assert bucket_of(TimeSpan(start, start + length)) == bucket


def test_no_time_is_before_the_epoch() -> None:
    epoch = local(0, BERLIN)
    assert [moment_of(epoch.replace(hour=hour)) for hour in (0, 1, 2)] == [0, 0, HOUR]
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


def test_a_range_of_days_holds_the_last_day_whole() -> None:
    view = View.model_validate({"from": "2026-03-01", "to": "2026-03-02", "tz": "Europe/Berlin"})
    span = view.span(0, None)
    assert span == (parse_instant("2026-02-28T23:00:00Z"), parse_instant("2026-03-02T23:00:00Z"))
    assert view.before(span) == (parse_instant("2026-02-26T23:00:00Z"), parse_instant("2026-02-28T23:00:00Z"))


def test_a_range_of_minutes_holds_the_last_minute_whole() -> None:
    view = View.model_validate({"from": "2026-03-01T10:00", "to": "2026-03-01T10:59"})
    assert view.span(0, None) == (parse_instant("2026-03-01T10:00:00Z"), parse_instant("2026-03-01T11:00:00Z"))


@pytest.mark.parametrize(
    "said",
    [
        {"from": "2026-13-01"},
        {"from": "yesterday"},
        {"to": "2026-02-30"},
        {"from": "2026-03-02", "to": "2026-03-01"},
        {"tz": "Mars/Olympus"},
        {"tz": "../../etc/passwd"},
        {"confidence": "7"},
    ],
)
def test_a_state_that_makes_no_sense_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        View.model_validate(said)


def test_an_address_carries_every_filter_and_no_place() -> None:
    said = {"period": "7d", "agent": "a&b", "q": "50 %", "confidence": "0.9", "cursor": "c", "stamp": "s", "id": "c1"}
    parameters = View.model_validate(said).parameters(Project("acme", "support"), reaction="ok")
    assert parameters == {
        "at": "acme/support", "period": "7d", "agent": "a&b", "q": "50 %", "confidence": 0.9, "reaction": "ok",
    }  # fmt: skip
    assert View.model_validate(parameters).agent == "a&b"


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
    assert parse_local("2026-01-01", BERLIN, last=False) == winter - HOUR
