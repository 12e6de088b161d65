"""Agent page: trend, versions, reasons, issues and calibration of one agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import asyncpg
from fastapi import Response

from reporting.figures.calibration import Calibration, calibration
from reporting.figures.dimension_votes import filter_choices
from reporting.figures.reasons import Reason, reasons
from reporting.figures.votes import Votes
from reporting.model.selection import Project, TimeSpan
from reporting.pages.comparison import Releases, releases, steps_of
from reporting.pages.issues import unsolved
from reporting.pages.queries.breakdown import BOTH, Breakdown
from reporting.pages.rendering import error_page
from reporting.pages.view import Link, View
from reporting.pages.visits import PageSources, Visit

_REASONS: Final = 12


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Verdicts on one agent version. `name` is None if the answers have no version."""

    name: str | None
    people: Votes
    machine: Votes


@dataclass(frozen=True, slots=True)
class AgentPage:
    """Data of the agent page.

    Attributes:
        people: People's verdicts on all versions.
        machine: Machine verdicts on all versions, with reviews.
        versions: Verdicts by version, those with the most verdicts first.
    """

    people: Votes
    machine: Votes
    versions: list[VersionRow]
    reasons: list[Reason]
    releases: Releases
    calibration: Calibration


async def show_agent(sources: PageSources, visit: Visit) -> Response:
    """Render the page of an agent."""
    if visit.view.agent is None:
        return error_page(404, "No agent selected", "Choose an agent on the overview.")
    visit = visit.over_versions()
    span = await sources.span(visit)
    figures, issues, choices = await asyncio.gather(
        agent(sources.reports, visit.at, visit.view, span, visit.link),
        unsolved(sources.reports, visit.at, sources.clock.now(), visit.view.agent),
        filter_choices(sources.reports, visit.at, span, visit.view.agent),
    )
    return visit.page("agent.html", a=figures, span=span, issues=issues, choices=choices)


async def agent(pool: asyncpg.Pool, at: Project, view: View, span: TimeSpan, link: Link) -> AgentPage:
    """Return the data of the agent page."""
    filters = view.filters.replace(origins=None)
    # Independent statements run at the same time on several connections.
    (counted, shown_releases), why, accuracy = await asyncio.gather(
        _releases(pool, at, view, span, link),
        reasons(pool, at, span, filters, _REASONS, rules=False),
        calibration(pool, at, span, filters, by_detector=False),
    )
    people, machine = (counted.whole[origin] for origin in BOTH)
    return AgentPage(
        people=people,
        machine=machine,
        versions=_versions(counted),
        reasons=why.reasons,
        releases=shown_releases,
        calibration=accuracy,
    )


async def _releases(
    pool: asyncpg.Pool, at: Project, view: View, span: TimeSpan, link: Link
) -> tuple[Breakdown, Releases]:
    counted = await steps_of(pool, at, span, view)
    return counted, await releases(pool, at, span, view, counted, link)


def _versions(counted: Breakdown) -> list[VersionRow]:
    names = {version.name for _, version in counted.versions}
    rows = [VersionRow(name, *(_of_version(counted, origin, name) for origin in BOTH)) for name in names]
    return sorted(rows, key=lambda one: (-(one.people.total + one.machine.total), one.name or ""))


def _of_version(counted: Breakdown, origin: str, name: str | None) -> Votes:
    return sum(
        (votes for (of, version), votes in counted.versions.items() if of == origin and version.name == name), Votes()
    )
