"""Agent page: trend, versions, reasons, issues and calibration of one agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from fastapi import Response

from reporting.figures.calibration import calibration
from reporting.figures.reasons import reasons
from reporting.figures.votes import Votes
from reporting.pages.comparison import releases
from reporting.pages.issues import unsolved
from reporting.pages.queries.breakdown import BOTH, Breakdown, breakdown
from reporting.pages.rendering import error_page
from reporting.pages.visits import PageSources, Visit
from reporting.pages.zones import bucket_of, starts

_REASONS: Final = 12


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Verdicts on an agent version. `name` is None in the row of all versions, and if the answers have no version."""

    name: str | None
    people: Votes
    machine: Votes


async def show_agent(sources: PageSources, visit: Visit) -> Response:
    """Render the page of an agent."""
    if visit.view.agent_id is None:
        return error_page(404, "No agent selected", "Choose an agent on the overview.")
    visit = visit.over_versions()
    pool, project, view = sources.reports, visit.at, visit.view
    span, filters = await sources.span(visit), view.filters.replace(origins=None)
    # Independent statements run at the same time on several connections.
    counted, why, accuracy, issues, controls = await asyncio.gather(
        breakdown(pool, project, span, filters, starts(span, bucket_of(span), view.zone)),
        reasons(pool, project, span, filters, _REASONS, rules=False),
        calibration(pool, project, span, filters, by_detector=False),
        unsolved(pool, project, sources.clock.now(), view.agent_id),
        sources.controls(visit, span),
    )
    return visit.page(
        "agent.html",
        versions=version_rows(counted),
        releases=await releases(pool, project, span, view, counted, visit.link),
        reasons=why.reasons,
        calibration=accuracy,
        issues=issues,
        **controls,
    )


def version_rows(counted: Breakdown) -> list[VersionRow]:
    """Return the verdicts on all versions, then those on each version, most verdicts first."""
    names = {version.name for _, version in counted.versions}
    rows = [VersionRow(name, *(_of_version(counted, origin, name) for origin in BOTH)) for name in names]
    rows.sort(key=lambda row: (-(row.people.total + row.machine.total), row.name or ""))
    return [VersionRow(None, counted.whole["user"], counted.whole["machine"]), *rows]


def _of_version(counted: Breakdown, origin: str, name: str | None) -> Votes:
    return sum(
        (votes for (of, version), votes in counted.versions.items() if of == origin and version.name == name), Votes()
    )
