"""Conversion of platforms' time formats to microseconds. No I/O."""

from __future__ import annotations

from typing import Any, Final, Literal

from contracts.instants import SECOND, parse_instant

TimeKind = Literal["rfc3339", "iso8601", "seconds", "milliseconds", "snowflake"]
_PER_UNIT: Final = {"seconds": SECOND, "milliseconds": SECOND // 1_000}
_DIGITS: Final = 20
_LAST_SECOND: Final = 253_402_300_799
_DISCORD_EPOCH_MS: Final = 1_420_070_400_000
"""Discord's epoch, the start of 2015, in milliseconds since 1970.

A Discord id contains the milliseconds since this epoch, above its lowest 22 bits.
"""


def moment_of(value: Any, kind: TimeKind) -> int | None:
    """Convert a JSON value to microseconds since 1970.

    Returns None if the value is invalid, or after the year 9999.
    """
    if kind == "rfc3339" or kind == "iso8601":
        return _written(value, utc_if_none=kind == "iso8601")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == "snowflake":
        return ((value >> 22) + _DISCORD_EPOCH_MS) * 1_000 if isinstance(value, int) and 0 < value < 2**64 else None
    # Compared before the conversion, to reject NaN and to convert no integer with thousands of digits.
    unit = _PER_UNIT[kind]
    return round(value * unit) if 0 <= value <= _LAST_SECOND * (SECOND // unit) else None


def _written(value: Any, *, utc_if_none: bool) -> int | None:
    if not isinstance(value, str) or len(value) > 64:
        return None
    for text in (value, f"{value}Z") if utc_if_none else (value,):
        try:
            return parse_instant(text)
        except ValueError:
            continue
    return None
