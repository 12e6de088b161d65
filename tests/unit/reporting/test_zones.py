"""Days and hours of a time zone, including the shorter and the longer day of a year."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.instants import DAY, MINUTE, parse_instant
from reporting.dashboard.view import View
from reporting.dashboard.zones import (
    MOST_STEPS,
    bucket_of,
    known_zones,
    local,
    offset_text,
    parse_local,
    starts,
    zone_of,
)
from reporting.queries.selection import Project, TimeSpan

BERLIN = zone_of("Europe/Berlin")
HOUR = 60 * MINUTE


def test_days_begin_at_the_zones_midnight_even_where_clocks_change() -> None:
    span = TimeSpan(parse_instant("2026-10-24T12:00:00Z"), parse_instant("2026-10-26T12:00:00Z"))
    begins = starts(span, "day", BERLIN)
    assert [f"{local(one, BERLIN):%d %H:%M}" for one in begins] == ["24 00:00", "25 00:00", "26 00:00"]
    assert [b - a for a, b in pairwise(begins)] == [DAY, 25 * HOUR]


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
    assert [offset_text(winter, zone_of(name)) for name in ("UTC", "Europe/Berlin", "America/New_York")] == [
        "UTC", "UTC+01:00", "UTC−05:00",
    ]  # fmt: skip
    assert parse_local("2026-01-01", BERLIN, last=False) == winter - HOUR
