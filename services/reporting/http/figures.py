"""HTTP routes for statistics: satisfaction, agent ranking, calibration, reasons and session ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import asyncpg
from fastapi import Query

from contracts.base import Name
from contracts.scopes import READ
from reporting.figures.calibration import Calibration, calibration
from reporting.figures.comparison import compare
from reporting.figures.comparison_models import ValueComparison
from reporting.figures.ranking import Ranking, ranking
from reporting.figures.reasons import Reasons, reasons
from reporting.figures.satisfaction import Summary, summary
from reporting.figures.sessions import SessionRatings, session_ratings
from reporting.http.bodies import (
    ComparisonQuery,
    FilteredQuery,
    ListQuery,
    RankingQuery,
    SessionsBody,
    SummaryQuery,
)
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.dimensions import dimension
from servicekit.clock import Clock
from servicekit.web.routes import Routes

SESSIONS: Final = "/conversations/{tenant}/sessions"
"""Path without a project. It requires a token for all projects of the tenant."""


@dataclass(frozen=True, slots=True)
class _Handlers:
    pool: asyncpg.Pool
    clock: Clock

    async def satisfaction(self, project: ProjectPath, query: Annotated[SummaryQuery, Query()]) -> Summary:
        """Summarise satisfaction by time, agent, agent version and origin."""
        return await summary(self.pool, project, query.span(self.clock.now()), query.bucket, query.filters)

    async def agents(self, project: ProjectPath, query: Annotated[RankingQuery, Query()]) -> Ranking:
        """Rank agents by satisfaction, worst first.

        The ranking uses the upper confidence bound of satisfaction, computed from either people's or machine verdicts.
        """
        span = query.span(self.clock.now())
        return await ranking(self.pool, project, span, query.min_votes, query.filters, query.limit)

    async def comparison(self, project: ProjectPath, query: Annotated[ComparisonQuery, Query()]) -> ValueComparison:
        """Compare two versions, models, strategies or other values, with a confidence interval of the difference.

        All intervals are 95 % confidence intervals. They take into account that verdicts of the same person are
        correlated.
        """
        span, pair = query.span(self.clock.now()), (query.a, query.b)
        return await compare(self.pool, project, span, query.filters, dimension(query.by), pair)

    async def reliability(self, project: ProjectPath, query: Annotated[FilteredQuery, Query()]) -> Calibration:
        """Compare machine verdicts with people's explicit and emoji feedback on the same turns."""
        return await calibration(self.pool, project, query.span(self.clock.now()), query.filters)

    async def why(self, project: ProjectPath, query: Annotated[ListQuery, Query()]) -> Reasons:
        """Count the reasons of verdicts: tags of people's verdicts, and correction types of machine verdicts."""
        span = query.span(self.clock.now())
        return await reasons(self.pool, project, span, query.filters, query.limit)

    async def sessions(self, tenant: Name, body: SessionsBody) -> SessionRatings:
        """Count the tenant's end-of-session ratings by time and by session length."""
        return await session_ratings(self.pool, tenant, body.span(self.clock.now()), body.bucket)


def figures_router(pool: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes for the statistics of a project and the session ratings of a tenant."""
    router, handlers = Routes("reporting", FAILURES), _Handlers(pool, clock)
    router.at("GET", PROJECT + "/feedback/summary", READ)(handlers.satisfaction)
    router.at("GET", PROJECT + "/feedback/agents", READ)(handlers.agents)
    router.at("GET", PROJECT + "/feedback/compare", READ)(handlers.comparison)
    router.at("GET", PROJECT + "/feedback/calibration", READ)(handlers.reliability)
    router.at("GET", PROJECT + "/feedback/reasons", READ)(handlers.why)
    router.at("POST", SESSIONS, READ)(handlers.sessions)
    return router
