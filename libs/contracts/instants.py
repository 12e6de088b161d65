"""Times as integer microseconds since the Unix epoch, and their conversion to and from RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

SECOND = 1_000_000
MINUTE = 60 * SECOND
_DAY_SECONDS = 86_400
DAY = _DAY_SECONDS * SECOND

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LOOSE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)? ?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK = tuple(f"{hour:02}:{minute:02}:" for hour in range(24) for minute in range(60))
LAST = 253_402_300_799_999_999
"""Latest valid time, 9999-12-31T23:59:59.999999Z, the maximum of `datetime`."""


def parse_instant(text: str) -> int:
    """Convert an RFC 3339 date-time with an offset to microseconds since the epoch.

    Fractions of a microsecond are truncated.

    Raises:
        ValueError: The string has a different format, or the time is before 1970 or after 9999 in UTC.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError("a time must be RFC 3339 with an offset, like 2026-01-31T12:00:00Z")
    return _microseconds(text)


def parse_loose_instant(text: str) -> int:
    """Convert a chat service's date-time with an offset to microseconds since the epoch.

    Some deviations from RFC 3339 are accepted: a space instead of `T`, a space before the offset, missing seconds, and
    an offset without a colon.

    Raises:
        ValueError: As for `parse_instant`.
    """
    if not _LOOSE.fullmatch(text):
        raise ValueError("a time must be RFC 3339 with an offset, or a number of epoch milliseconds")
    return _microseconds(f"{text[:10]}T{text[11:].replace(' ', '')}")


def _microseconds(text: str) -> int:
    since = datetime.fromisoformat(text.upper()) - _EPOCH
    moment = (since.days * _DAY_SECONDS + since.seconds) * SECOND + since.microseconds
    if moment < 0:
        raise ValueError("a time before 1970")
    if moment > LAST:
        raise ValueError("a time after the year 9999")
    return moment


def format_instant(moment: int) -> str:
    """Format microseconds since the epoch as RFC 3339 in UTC, with six fractional digits and `Z`.

    The time must not be after the year 9999.
    """
    # Reports contain thousands of times, and this is twice as fast as formatting datetimes.
    day, within = divmod(moment, DAY)
    minute, rest = divmod(within, MINUTE)
    return f"{_date(day)}T{_CLOCK[minute]}{rest / SECOND:09.6f}Z"


@lru_cache(maxsize=1_024)
def _date(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).date().isoformat()


def _validate(value: object, info: ValidationInfo) -> int:
    if isinstance(value, str):
        return parse_instant(value)
    if info.mode == "python" and type(value) is int and 0 <= value <= LAST:
        return value
    raise ValueError("a time must be an RFC 3339 string")


Instant = Annotated[
    int,
    BeforeValidator(_validate),
    PlainSerializer(format_instant, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Time: integer microseconds since the epoch in Python, an RFC 3339 string in JSON."""
