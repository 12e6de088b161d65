"""Data for the issue list and for the page of one issue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import asyncpg
from fastapi import Response

from contracts.extras import install_command
from contracts.instants import DAY
from contracts.scopes import REVIEW
from reporting.http.exports import EXPORTS
from reporting.http.issues import ISSUE
from reporting.issues.job import is_available
from reporting.issues.reading import (
    EXAMPLES,
    TREND_DAYS,
    Issue,
    find_issue,
    list_issues,
    waiting,
)
from reporting.issues.store import IssueState
from reporting.model.selection import Project
from reporting.pages.rendering import error_page
from reporting.pages.view import Link, View, path_of, trace_url
from reporting.pages.visits import PageSources, Visit
from reporting.pages.zones import local, zone_of
from reporting.read_models.projects import agent_ids
from servicekit.web.auth import Caller

UNSOLVED: Final[tuple[IssueState, ...]] = ("open", "regressed")
_CARD: Final = 6
MOST_LISTED: Final = 100
"""Maximum number of issues in the list."""
_NO_FILTER: Final = dict.fromkeys(
    (
        *("origin", "by", "source", "agent", "version", "model", "bundle", "track", "intent", "strategy", "user_type"),
        *("thread", "type", "reason", "confidence", "state", "q", "user", "conversation"),
    )
)
"""URL parameters that remove the filters of the feedback list from a link."""


async def show_issues(sources: PageSources, visit: Visit) -> Response:
    """Render the list of issues."""
    values = await issues_values(sources.current, visit.at, visit.view, sources.clock.now(), visit.link)
    return visit.page("issues.html", **values)


async def show_issue(sources: PageSources, visit: Visit) -> Response:
    """Render the page of an issue."""
    issue, values = visit.view.issue, None
    if issue is not None:
        pool, now, trace = sources.current, sources.clock.now(), sources.trace_url_template
        values = await issue_values(pool, visit.at, issue, now, visit.caller, trace, visit.link)
    if values is None:
        return error_page(404, "There is no such issue", "It does not exist, or all its turns were deleted.")
    return visit.page("issue.html", **values)


async def issues_values(pool: asyncpg.Pool, at: Project, view: View, now: int, link: Link) -> dict[str, Any]:
    """Return the template values of the issue list.

    `now` is in microseconds.
    """
    states = UNSOLVED if view.state is None else None if view.state == "all" else (view.state,)
    issues = await list_issues(pool, at, now, view.agent, states, MOST_LISTED)
    return {
        "issues": issues,
        "most_listed": MOST_LISTED,
        "cases": partial(cases_of, link),
        "trend_start": trend_days(now)[0],
        "waiting": await waiting(pool, at, view.agent),
        "available": is_available(),
        "install_command": install_command("issues"),
        "agent_names": await agent_ids(pool, at),
    }


async def issue_values(
    pool: asyncpg.Pool, at: Project, issue: int, now: int, caller: Caller, trace_url_template: str | None, link: Link
) -> dict[str, Any] | None:
    """Return the template values of an issue's page, or None if the project has no such issue.

    `now` is in microseconds.
    """
    found = await find_issue(pool, at, issue, now)
    if found is None:
        return None
    reviewer = REVIEW in caller.scopes
    others = await list_issues(pool, at, now, found.issue.agent_id, None) if reviewer else []
    return {
        "i": found.issue,
        "cases": partial(cases_of, link),
        "trend_start": trend_days(now)[0],
        "trend_days": trend_days(now),
        "turns": found.turns,
        "examples": EXAMPLES,
        "trace": partial(trace_url, trace_url_template),
        "versions": found.versions,
        "proof": found.resolution,
        "reviewer": reviewer,
        "others": [one for one in others if one.id != issue],
        "path": path_of(ISSUE.replace("{issue:segment}", str(issue)), at),
        "export_path": path_of(EXPORTS.replace("/{wanted:segment}", ""), at),
    }


def cases_of(
    link: Link,
    issue: int,
    path: str = "/dashboard/feedback",
    *,
    since: str | None = None,
    until: str | None = None,
    **narrowed: str,
) -> str:
    """Return the URL of a page that is filtered to an issue's rejections.

    The current filters are dropped from the URL, because they do not affect an issue's figures.

    Args:
        path: Path of the page, by default the feedback list.
        since: First UTC day to include. If None, the period is unlimited.
        until: Last UTC day to include.
        narrowed: Further URL parameters.
    """
    days = {"from": since, "to": until, "tz": "UTC"} if since else {"from": None, "to": None, "period": "all"}
    changes = {**_NO_FILTER, **days, **narrowed}
    return link(path, issue=issue, reaction="not_ok", **changes)


def trend_days(now: int) -> list[str]:
    """Return the UTC days of an issue's trend, such as `2026-01-31`, ending today."""
    return [
        f"{local(day * DAY, zone_of('UTC')):%Y-%m-%d}" for day in range(now // DAY - TREND_DAYS + 1, now // DAY + 1)
    ]


async def unsolved(pool: asyncpg.Pool, at: Project, now: int, agent: str | None) -> Sequence[Issue]:
    """Return the open and regressed issues with the most turns, at most six."""
    return await list_issues(pool, at, now, agent, UNSOLVED, _CARD)
