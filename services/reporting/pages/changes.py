"""Changes at the top of the overview: open alerts, and new or growing issues."""

from __future__ import annotations

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


async def open_alerts(pool: asyncpg.Pool, project: Project, filters: Filters) -> list[AlertRow]:
    """Return the open alerts about the selected agent and version."""
    return [
        alert
        for alert in await alert_rows(pool, project)
        if alert.over_at is None
        and filters.agent_id in (None, alert.subject.agent)
        and filters.agent_version in (None, alert.subject.version)
    ]


async def growing_issues(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, before: TimeSpan | None, filters: Filters
) -> list[GrowingIssue]:
    """Return at most six unsolved issues with more matching rejections than before, greatest growth first."""
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
            of_machine=filters.origins is None or "machine" in filters.origins,
            is_unfiltered=filters.replace(agent_id=None) == Filters(reaction="not_ok"),
            limit=_SHOWN,
        )
    )
    return [GrowingIssue(**row) for row in rows]
