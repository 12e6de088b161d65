"""Daily and weekly digests of a project, with the three largest changes in satisfaction. No I/O."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from contracts.instants import DAY, MINUTE, format_instant
from reporting.alerts.decisions import Counts, Daily, Subject
from reporting.alerts.messages import Announcement
from reporting.alerts.settings_file import Every
from reporting.queries.selection import HOUR, SHIFTS, Project
from reporting.queries.votes import SatisfactionChange, Votes

DAYS: Final = {"day": 1, "week": 7}
_READY: Final = 6 * HOUR
"""Delay between the end of a period and its digest, so that late feedback is included."""
_SHOWN: Final = 3
_ENOUGH: Final = 10


def period_end(every: Every, now: int) -> int:
    """Return the end of the latest period whose digest is due, in microseconds.

    Days end at 00:00 UTC, and weeks at 00:00 UTC on Monday.
    """
    length, shift = DAYS[every] * DAY, SHIFTS[every]
    return (now - _READY - shift) // length * length + shift


def digest_of(at: Project, every: Every, end: int, counts: Counts, address: str) -> Announcement | None:
    """Return the digest of a period, or None if the period has no verdicts.

    Args:
        end: End of the period in microseconds.
        counts: Verdicts of the period and of the previous one.
        address: Base URL of the dashboard.
    """
    last, days = end // DAY, DAYS[every]
    now = {key: _sum(daily, last - days, last) for key, daily in counts.items()}
    before = {key: _sum(daily, last - 2 * days, last - days) for key, daily in counts.items()}
    lines = []
    for by, name in (("people", "People"), ("machine", "Machine")):
        whole = sum((votes for (judge, one), votes in now.items() if judge == by and one.version is None), Votes())
        if whole.total:
            lines.append(f"{name}: {whole.total:,} verdicts, {whole.satisfaction or 0:.0%} satisfied.")
    if not lines:
        return None
    changed: list[tuple[float, str]] = []
    for (by, subject), votes in now.items():
        was = before[by, subject]
        change = votes.since(was)
        if change is not None and change.certain and min(votes.total, was.total) >= _ENOUGH:
            changed.append((-abs(change.points), _moved(subject, by, change)))
    lines += [line for _, line in sorted(changed)[:_SHOWN]] or ["No agent or version changed significantly."]
    begin = end - days * DAY
    query = {
        "at": f"{at.tenant}/{at.project}",
        "from": format_instant(begin)[:16],
        "to": format_instant(end - MINUTE)[:16],
        "tz": "UTC",
    }
    return Announcement(
        f"digest-{at.tenant}-{at.project}-{end}",
        "digest",
        f"{at.tenant} / {at.project}, the {every} to {format_instant(end - 1)[:10]}",
        "\n".join(lines),
        f"{address}/?{urlencode(query)}",
        at.tenant,
        at.project,
        "digest",
        end,
    )


def _sum(daily: Daily, first: int, end: int) -> Votes:
    return sum((votes for day, votes in daily.items() if first <= day < end), Votes())


def _moved(subject: Subject, by: str, change: SatisfactionChange) -> str:
    name = subject.agent or ""
    name += f" {subject.version}" if subject.version is not None else ""
    return f"{name}: {change.was:.0%} to {change.now:.0%} ({change.points:+.1f} points, {by})."
