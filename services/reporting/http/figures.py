"""HTTP routes for statistics: satisfaction, agent ranking, calibration, reasons and session ratings."""

from __future__ import annotations

from typing import Annotated

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
from reporting.http.conversations import FAILURES, PROJECT
from reporting.http.query_parameters import (
    ComparisonQuestion,
    FilteredQuestion,
    PagedQuestion,
    RankingQuestion,
    SessionsBody,
    SummaryQuestion,
)
from reporting.model.dimensions import dimension
from reporting.model.selection import Project
from servicekit.clock import Clock
from servicekit.web.routes import Routes

SESSIONS = "/conversations/{tenant}/sessions"
"""Path without a project. It requires a token for all projects of the tenant."""


def figures_router(pool: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes for the statistics of a project and the session ratings of a tenant."""
    router = Routes("reporting", FAILURES)

    @router.at("GET", PROJECT + "/feedback/summary", READ)
    async def satisfaction(tenant: Name, project: Name, question: Annotated[SummaryQuestion, Query()]) -> Summary:
        """Summarise satisfaction by time, agent, agent version and origin."""
        span = question.span(clock.now())
        return await summary(pool, Project(tenant, project), span, question.bucket, question.filters)

    @router.at("GET", PROJECT + "/feedback/agents", READ)
    async def agents(tenant: Name, project: Name, question: Annotated[RankingQuestion, Query()]) -> Ranking:
        """Rank agents by satisfaction, worst first.

        The ranking uses the upper confidence bound of satisfaction, computed from either people's or machine verdicts.
        """
        span = question.span(clock.now())
        scope, filters = Project(tenant, project), question.filters
        return await ranking(
            *(pool, scope, span, question.min_votes, filters, question.limit, question.cursor),
            parameters=question.asked,
        )

    @router.at("GET", PROJECT + "/feedback/compare", READ)
    async def comparison(
        tenant: Name, project: Name, question: Annotated[ComparisonQuestion, Query()]
    ) -> ValueComparison:
        """Compare two versions, models, strategies or other values, with a confidence interval of the difference.

        All intervals are 95 % confidence intervals. They take into account that verdicts of the same person are
        correlated.
        """
        scope, span, by = Project(tenant, project), question.span(clock.now()), dimension(question.by)
        return await compare(pool, scope, span, question.filters, by, (question.a, question.b))

    @router.at("GET", PROJECT + "/feedback/calibration", READ)
    async def reliability(tenant: Name, project: Name, question: Annotated[FilteredQuestion, Query()]) -> Calibration:
        """Compare machine verdicts with people's explicit and emoji feedback on the same turns."""
        return await calibration(pool, Project(tenant, project), question.span(clock.now()), question.filters)

    @router.at("GET", PROJECT + "/feedback/reasons", READ)
    async def why(tenant: Name, project: Name, question: Annotated[PagedQuestion, Query()]) -> Reasons:
        """Count the reasons of verdicts.

        The reasons of people's verdicts are tags. The reasons of machine verdicts are rules and correction types.
        """
        scope, span = Project(tenant, project), question.span(clock.now())
        return await reasons(
            pool, scope, span, question.filters, question.limit, cursor=question.cursor, parameters=question.asked
        )

    @router.at("POST", SESSIONS, READ)
    async def sessions(tenant: Name, body: SessionsBody) -> SessionRatings:
        """Count the tenant's end-of-session ratings by time and by session length."""
        return await session_ratings(pool, tenant, body.span(clock.now()), body.bucket)

    return router
