"""Changes that the overview begins with: open alerts, agents that fell or rose, and issues that are new or growing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from contracts.instants import DAY
from reporting.alerts.store import AlertRow, alert_rows
from reporting.issues.reading import Issue, list_issues
from reporting.model.selection import Project
from reporting.pages.issues import MOST_LISTED, UNSOLVED

WEEK_DAYS: Final = 7
_SHOWN: Final = 6


class GrowingIssue(NamedTuple):
    """Issue with more rejected turns in the last seven UTC days than in the seven before."""

    issue: Issue
    is_new: bool
    last_week: int
    week_before: int


class Changes(NamedTuple):
    """Open alerts of the project, and its growing issues, those that grew most first."""

    alerts: Sequence[AlertRow]
    issues: Sequence[GrowingIssue]


async def changes(pool: asyncpg.Pool, project: Project, now: int, agent: str | None) -> Changes:
    """Return what changed in the last week.

    Args:
        now: The current time in microseconds.
        agent: Only alerts and issues of this agent.
    """
    alerts, issues = await asyncio.gather(
        alert_rows(pool, project), list_issues(pool, project, now, agent, UNSOLVED, MOST_LISTED)
    )
    opened = [alert for alert in alerts if alert.over_at is None and agent in (None, alert.subject.agent)]
    return Changes(opened, growing_issues(issues, now))


def growing_issues(issues: Sequence[Issue], now: int) -> list[GrowingIssue]:
    """Return at most six issues that grew, those that grew most first."""
    growing = [
        GrowingIssue(issue, (issue.first_at or 0) >= now - WEEK_DAYS * DAY, last_week, week_before)
        for issue in issues
        if (last_week := sum(issue.days[-WEEK_DAYS:])) > (week_before := sum(issue.days[:-WEEK_DAYS]))
    ]
    return sorted(growing, key=lambda growth: growth.week_before - growth.last_week)[:_SHOWN]
