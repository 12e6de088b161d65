"""List of issues, and page of one issue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import asyncpg
from fastapi import Response
from fastapi.responses import RedirectResponse

from contracts.extras import install_command
from contracts.instants import DAY
from contracts.scopes import REVIEW
from reporting.figures.dimension_votes import value_votes
from reporting.http.issues import IssueBody, IssueChanges, MergeBody
from reporting.issues.job import is_available
from reporting.issues.reading import EXAMPLES, TREND_DAYS, Issue, find_issue, list_issues, waiting
from reporting.issues.store import IssueState
from reporting.model.dimensions import KNOWN
from reporting.model.selection import ALWAYS, Filters, Project
from reporting.pages.feedback_list import LIST, dataset_urls
from reporting.pages.forms import Form
from reporting.pages.view import address, trace_url
from reporting.pages.visits import PageSources, Visit
from reporting.pages.zones import local, zone_of
from reporting.read_models.projects import agent_ids
from servicekit.errors import RequestRefused

ISSUE: Final = "/dashboard/issue"
UNSOLVED: Final[tuple[IssueState, ...]] = ("open", "regressed")
_CARD: Final = 6
MOST_LISTED: Final = 100
"""Maximum number of issues in the list."""


async def show_issues(sources: PageSources, visit: Visit) -> Response:
    """Render the list of issues."""
    pool, view, now = sources.current, visit.view, sources.clock.now()
    states = UNSOLVED if view.state is None else None if view.state == "all" else (view.state,)
    return visit.page(
        "issues.html",
        issues=await list_issues(pool, visit.project, now, view.agent_id, states, MOST_LISTED),
        most_listed=MOST_LISTED,
        cases=partial(cases_of, visit),
        trend_start=trend_days(now)[0],
        waiting=await waiting(pool, visit.project, view.agent_id),
        available=is_available(),
        install_command=install_command("issues"),
        agent_names=await agent_ids(pool, visit.project),
    )


async def show_issue(sources: PageSources, visit: Visit) -> Response:
    """Render the page of an issue."""
    issue, now = visit.view.issue, sources.clock.now()
    found = None if issue is None else await find_issue(sources.current, visit.project, issue, now)
    if issue is None or found is None:
        raise RequestRefused(404, "The issue does not exist, or all its turns were deleted.")
    reviewer = REVIEW in visit.caller.scopes
    others = await list_issues(sources.current, visit.project, now, found.issue.agent_id, None) if reviewer else []
    of_agent = Filters(agent_id=found.issue.agent_id)
    versions = await value_votes(sources.current, visit.project, ALWAYS, of_agent, KNOWN["version"]) if reviewer else []
    return visit.page(
        "issue.html",
        i=found.issue,
        turns=found.turns,
        versions=[votes.value for votes in versions],
        cases=partial(cases_of, visit),
        trend_start=trend_days(now)[0],
        trend_days=trend_days(now),
        examples=EXAMPLES,
        trace=partial(trace_url, sources.trace_url_template),
        reviewer=reviewer,
        others=[other for other in others if other.id != issue],
        datasets=dataset_urls(visit.project, {"issue": issue}),
    )


async def change_issue(changes: IssueChanges, _: PageSources, visit: Visit) -> Response:
    """Change or merge an issue as the submitted form asks, and show the result."""
    form, issue = await Form.read(visit.request), visit.view.issue or 0
    if "into" in form:
        shown = await changes.merge_issue(visit.project, issue, form.parsed(MergeBody))
    else:
        shown = await changes.change_issue(visit.project, issue, form.parsed(IssueBody))
    return RedirectResponse(visit.link(ISSUE, issue=shown.id), 303)


def cases_of(
    visit: Visit, issue: int, path: str = LIST, *, since: str | None = None, until: str | None = None, **filters: str
) -> str:
    """Return the URL of a page that is filtered to an issue's rejections.

    The page's own filters do not affect an issue's figures, so the URL does not keep them.

    Args:
        path: Path of the page, by default the feedback list.
        since: First UTC day to include. If None, the period is unlimited.
        until: Last UTC day to include.
        filters: Further URL parameters.
    """
    days = {"from": since, "to": until, "tz": "UTC"} if since else {"period": "all", "tz": visit.view.tz}
    project = f"{visit.project.tenant}/{visit.project.project}"
    return address(path, {"at": project, **days, "issue": issue, "reaction": "not_ok", **filters})


def trend_days(now: int) -> list[str]:
    """Return the UTC days of an issue's trend, such as `2026-01-31`, ending today."""
    return [
        f"{local(day * DAY, zone_of('UTC')):%Y-%m-%d}" for day in range(now // DAY - TREND_DAYS + 1, now // DAY + 1)
    ]


async def unsolved(pool: asyncpg.Pool, project: Project, now: int, agent: str | None) -> Sequence[Issue]:
    """Return the open and regressed issues with the most turns, at most six."""
    return await list_issues(pool, project, now, agent, UNSOLVED, _CARD)
