"""Conversion between timestamps and the viewer's local time. No I/O."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from contracts.instants import SECOND
from reporting.model.selection import Bucket, TimeSpan

MOST_STEPS: Final = 800


@cache
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones()) | {"UTC"}


@cache
def zone_of(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name, or UTC if the name is unknown."""
    return ZoneInfo(name if name in known_zones() else "UTC")


def local(moment: int, zone: ZoneInfo) -> datetime:
    """Convert a time in microseconds since the epoch to local time."""
    return datetime.fromtimestamp(moment // SECOND, zone)


def moment_of(stamp: datetime) -> int:
    """Convert an aware datetime to microseconds since the epoch, at least 0."""
    return max(0, round(stamp.timestamp()) * SECOND)


def parse_local(text: str, zone: ZoneInfo, *, last: bool) -> int:
    """Parse a local day (`2026-01-31`) or minute (`2026-01-31T09:30`).

    Returns:
        The start of the day or minute, in microseconds since the epoch. If `last` is set, the end of the day or minute.

    Raises:
        ValueError: If the text has another format.
    """
    if "T" in text:
        stamp = datetime.strptime(text, "%Y-%m-%dT%H:%M").replace(tzinfo=zone)
        moment = moment_of(stamp)
        return moment + 60 * SECOND if last else moment
    day = date.fromisoformat(text)
    return moment_of(datetime.combine(day + timedelta(days=1) if last else day, time(), zone))


def bucket_of(span: TimeSpan) -> Bucket:
    """Return the bucket width of a chart: hours for up to 2.5 days, days for up to 100 days, otherwise weeks."""
    days = (span.end - span.start) / (86_400 * SECOND)
    return "hour" if days <= 2.5 else "day" if days <= 100 else "week"


def starts(span: TimeSpan, bucket: Bucket, zone: ZoneInfo) -> list[int]:
    """Return the start times of the hours, days or weeks that overlap the span, in microseconds.

    Days and weeks begin at midnight in the time zone, and weeks begin on Monday. If there are more than 800 of them,
    only the newest 800 are returned.
    """
    if bucket == "hour":
        first = local(span.start, zone)
        width = 3_600 * SECOND
        begin = moment_of(first.replace(minute=0, second=0, microsecond=0))
        begin = max(begin, span.end - MOST_STEPS * width)
        return list(range(begin, span.end, width))
    step = 1 if bucket == "day" else 7
    end = local(max(span.start, span.end - 1), zone).date()
    day = local(span.start, zone).date()
    if bucket == "week":
        day -= timedelta(days=day.weekday())
    skipped = max(0, (end - day).days // step + 1 - MOST_STEPS)
    day += timedelta(days=step * skipped)
    steps = []
    while day <= end:
        steps.append(moment_of(datetime.combine(day, time(), zone)))
        day += timedelta(days=step)
    return steps


def offset_text(moment: int, zone: ZoneInfo) -> str:
    """Return the zone's offset from UTC at the given time, such as `UTC+01:00`."""
    offset = local(moment, zone).utcoffset() or timedelta()
    if not offset:
        return "UTC"
    sign, minutes = ("+", offset) if offset > timedelta() else ("−", -offset)
    return f"UTC{sign}{minutes.seconds // 3600:02}:{minutes.seconds // 60 % 60:02}"
