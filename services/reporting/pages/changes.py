"""Changes that the overview begins with: open alerts, agents that fell or rose, and issues that are new or growing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from reporting.alerts.store import AlertRow, alert_rows
from reporting.model.selection import Filters, Project, TimeSpan, conditions
from reporting.pages.issues import UNSOLVED
from reporting.sql import SQL

_SHOWN: Final = 6


class GrowingIssue(NamedTuple):
    """Issue with more rejected turns in a period than in the period before."""

    id: int
    title: str
    agent_id: str
    people: int
    is_new: bool
    turns: int
    turns_before: int


class Changes(NamedTuple):
    """Open alerts of the project, and its growing issues, those that grew most first."""

    alerts: Sequence[AlertRow]
    issues: Sequence[GrowingIssue]


async def changes(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, before: TimeSpan | None, filters: Filters
) -> Changes:
    """Return the open alerts about the selected agent and version, and the issues that grew in the period.

    Args:
        before: The period before. If None, no issue is returned.
    """
    alerts, issues = await asyncio.gather(
        alert_rows(pool, project), growing_issues(pool, project, span, before, filters)
    )
    opened = [
        alert
        for alert in alerts
        if alert.over_at is None
        and filters.agent_id in (None, alert.subject.agent)
        and filters.agent_version in (None, alert.subject.version)
    ]
    return Changes(opened, issues)


async def growing_issues(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, before: TimeSpan | None, filters: Filters
) -> list[GrowingIssue]:
    """Return at most six unsolved issues whose rejections that match the filters grew, those that grew most first."""
    if before is None or filters.reaction not in (None, "not_ok"):
        return []
    filters = filters.replace(reaction="not_ok")
    _, narrowed, values = conditions(project, span, filters)
    statement = SQL.growing_issues.filled(view=filters.view, narrowed=narrowed)
    rows = await pool.fetch(
        *statement(
            **values,
            before=before.start,
            agent=filters.agent_id,
            states=UNSOLVED,
            is_unfiltered=filters.replace(agent_id=None) == Filters(reaction="not_ok"),
            limit=_SHOWN,
        )
    )
    return [GrowingIssue(**row) for row in rows]
