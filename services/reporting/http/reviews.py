"""HTTP route of the machine's accuracy, measured by reviews of randomly drawn answers."""

from __future__ import annotations

import asyncio
from typing import Annotated

import asyncpg
from fastapi import Query

from contracts.scopes import READ
from reporting.http.bodies import WindowQuery
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.responses import scope_of
from reporting.model.selection import Project, TimeSpan
from reporting.reviews.figures import Audit
from reporting.reviews.sample import agreement, pending_count, samples
from servicekit.clock import Clock
from servicekit.web.routes import Routes


def audit_router(pool: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the route of the audit."""

    async def audit(project: ProjectPath, query: Annotated[WindowQuery, Query()]) -> Audit:
        """Get the precision of the machine's rejections, and the number of rejections that it missed.

        The figures cover the 15,000 newest answers of the window that a person responded to. Only reviews of randomly
        drawn answers count, because turns chosen by a reviewer would bias the figures.
        """
        return await figures(pool, project, query.span(clock.now()))

    router = Routes("reporting", FAILURES)
    router.at("GET", PROJECT + "/audit", READ)(audit)
    return router


async def figures(pool: asyncpg.Pool, project: Project, span: TimeSpan) -> Audit:
    """Return the audit of a time window."""
    # Independent statements run at the same time on several connections.
    counted, waiting, agreed = await asyncio.gather(
        samples(pool, project, span),
        pending_count(pool, project),
        agreement(pool, project),
    )
    return Audit(
        **scope_of(project, span),
        pending=waiting,
        precision=counted[True],
        missed=counted[False],
        agreement=agreed,
    )
