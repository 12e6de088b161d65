"""Times in events: RFC 3339 with an offset, from 1970 to the end of 9999 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.instants import LAST, Instant, format_instant, parse_instant, parse_loose_instant

ADAPTER = TypeAdapter(Instant)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999999-00:01"])
def test_a_time_that_ends_after_the_year_9999_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="after the year 9999"):
        parse_instant(text)


def test_the_last_moment_comes_back_as_it_went() -> None:
    assert format_instant(parse_instant("9999-12-31T23:59:59.999999Z")) == "9999-12-31T23:59:59.999999Z"


def test_the_first_moment_comes_back_and_the_one_before_is_refused() -> None:
    assert format_instant(parse_instant("1970-01-01T01:00:00+01:00")) == "1970-01-01T00:00:00.000000Z"
    with pytest.raises(ValueError, match="before 1970"):
        parse_instant("1970-01-01T00:59:59.999999+01:00")


@given(st.integers(0, 253_402_300_799_999_999))
def test_microseconds_and_text_are_those_of_the_datetime(since: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=since)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"
    assert (format_instant(since), parse_instant(text)) == (text, since)


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00Z", "2026-01-01T10:00:00.5+01:00"])
def test_text_is_read_in_python_and_json(text: str) -> None:
    assert ADAPTER.validate_python(text) == ADAPTER.validate_json(f'"{text}"') == parse_instant(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-31 12:00:00.5Z", "2026-01-31T12:00:00.500000Z"),
        ("2026-01-31t12:00z", "2026-01-31T12:00:00.000000Z"),
        ("2026-01-31T12:00:00 Z", "2026-01-31T12:00:00.000000Z"),
        ("2026-01-31 12:00:00 +01:30", "2026-01-31T10:30:00.000000Z"),
        ("2026-01-31 12:00 -0130", "2026-01-31T13:30:00.000000Z"),
        ("2026-01-31 12:00:00.1234567Z", "2026-01-31T12:00:00.123456Z"),
        ("2026-01-31  12:00Z", None),
        ("2026-01-31 12:00  Z", None),
        ("2026-01-31 12:00", None),
        ("2026-01-31 12Z", None),
        ("2026-01-31", None),
        ("31.01.2026 12:00Z", None),
        ("1969-12-31 23:59Z", None),
        ("2026-02-30 12:00Z", None),
    ],
)
def test_the_spellings_of_chat_services(text: str, same: str | None) -> None:
    if same is None:
        with pytest.raises(ValueError):  # each of the rules has its own sentence
            parse_loose_instant(text)
    else:
        assert format_instant(parse_loose_instant(text)) == same


@pytest.mark.parametrize(
    ("value", "is_time"), [(0, True), (LAST, True), (-1, False), (LAST + 1, False), (True, False), (1.0, False)]
)
def test_a_number_of_microseconds_is_a_time_in_python_alone(value: int, is_time: bool) -> None:
    if is_time:
        assert ADAPTER.validate_python(value) == value
    else:
        with pytest.raises(ValidationError):
            ADAPTER.validate_python(value)
    with pytest.raises(ValidationError):
        ADAPTER.validate_json(str(value).lower())
