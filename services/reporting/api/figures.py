"""Statistics routes of the reporting HTTP API: satisfaction, agent ranking, calibration, reasons, session ratings."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from fastapi import Query

from contracts.base import Name
from reporting.api.conversations import FAILURES, PROJECT
from reporting.api.query_parameters import (
    CalibrationQuestion,
    ComparisonQuestion,
    PagedQuestion,
    RankingQuestion,
    ResponseQuestion,
    SessionsBody,
    SummaryQuestion,
)
from reporting.queries.calibration import Calibration, calibration
from reporting.queries.comparison import compare
from reporting.queries.comparison_models import ValueComparison
from reporting.queries.dimensions import dimension
from reporting.queries.ranking import Ranking, ranking
from reporting.queries.reasons import Reasons, reasons
from reporting.queries.response_rates import ResponseRates, response_rates
from reporting.queries.satisfaction import Summary, summary
from reporting.queries.selection import Project
from reporting.queries.sessions import SessionRatings, session_ratings
from servicekit import Clock, Routes

SESSIONS = "/conversations/{tenant}/sessions"
"""Path without a project; it requires a token for all projects of the tenant."""


def figures_router(pool: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes that give a project's statistics and a tenant's session ratings."""
    router = Routes("reporting", FAILURES)

    @router.at("GET", PROJECT + "/feedback/summary")
    async def satisfaction(tenant: Name, project: Name, question: Annotated[SummaryQuestion, Query()]) -> Summary:
        """Summarise satisfaction by time, agent, agent version and origin."""
        span = question.span(clock.now())
        return await summary(pool, Project(tenant, project), span, question.bucket, question.filters)

    @router.at("GET", PROJECT + "/feedback/agents")
    async def agents(tenant: Name, project: Name, question: Annotated[RankingQuestion, Query()]) -> Ranking:
        """Rank agents, worst first, by the upper confidence bound of people's or the machine's satisfaction."""
        span = question.span(clock.now())
        at, filters = Project(tenant, project), question.filters
        return await ranking(
            *(pool, at, span, question.min_votes, filters, question.limit, question.cursor),
            given=question.asked,
            order=question.order,
        )

    @router.at("GET", PROJECT + "/feedback/compare")
    async def comparison(
        tenant: Name, project: Name, question: Annotated[ComparisonQuestion, Query()]
    ) -> ValueComparison:
        """Compare two versions, models, strategies or other values, with the confidence interval of the difference.

        All intervals are 95 % confidence intervals that account for clustering of verdicts by person.
        """
        at, span, by = Project(tenant, project), question.span(clock.now()), dimension(question.by)
        return await compare(pool, at, span, question.filters, by, (question.a, question.b))

    @router.at("GET", PROJECT + "/feedback/calibration")
    async def reliability(
        tenant: Name, project: Name, question: Annotated[CalibrationQuestion, Query()]
    ) -> Calibration:
        """Compare machine verdicts with people's explicit and emoji feedback on the same turn."""
        return await calibration(pool, Project(tenant, project), question.span(clock.now()), question.filters)

    @router.at("GET", PROJECT + "/feedback/reasons")
    async def why(tenant: Name, project: Name, question: Annotated[PagedQuestion, Query()]) -> Reasons:
        """Count the reasons of verdicts: people's tags, and the machine's rules and correction types."""
        at, span = Project(tenant, project), question.span(clock.now())
        return await reasons(
            pool, at, span, question.filters, question.limit, cursor=question.cursor, given=question.asked
        )

    @router.at("GET", PROJECT + "/feedback/response-rates")
    async def response(tenant: Name, project: Name, question: Annotated[ResponseQuestion, Query()]) -> ResponseRates:
        """Count answered turns and impressions, and return the shares of both that have feedback so far.

        Impressions exist only if pages report them (`POST …/impressions`).
        """
        return await response_rates(pool, Project(tenant, project), question.span(clock.now()), question.filters)

    @router.at("POST", SESSIONS)
    async def sessions(tenant: Name, body: SessionsBody) -> SessionRatings:
        """Count the tenant's end-of-session ratings by time and by session length."""
        return await session_ratings(pool, tenant, body.span(clock.now()), body.bucket)

    return router
