"""The reporting HTTP API's figures: satisfaction, agents, and how far machine verdicts can be trusted."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from fastapi import APIRouter, Depends, Query

from reporting.api import PROJECT, ProjectPath, TenantPath
from reporting.errors import FAILURES, Route
from reporting.queries.calibration import Calibration, calibration
from reporting.queries.satisfaction import Ranking, Summary, ranking, summary
from reporting.questions import RankingQuestion, SummaryQuestion, Window
from reporting.scope import Project
from servicekit.auth import caller_in
from servicekit.clock import Clock


def figures_router(pool: asyncpg.Pool, clock: Clock) -> APIRouter:
    """Figures about a project."""
    router = APIRouter(route_class=Route, dependencies=[Depends(caller_in)], responses=FAILURES, tags=["reporting"])

    @router.get(PROJECT + "/feedback/summary")
    async def satisfaction(
        tenant: TenantPath, project: ProjectPath, question: Annotated[SummaryQuestion, Query()]
    ) -> Summary:
        """Satisfaction by time, agent, agent version and origin."""
        span = question.span(clock.now())
        return await summary(pool, Project(tenant, project), span, question.bucket, question.filters)

    @router.get(PROJECT + "/feedback/agents")
    async def agents(
        tenant: TenantPath, project: ProjectPath, question: Annotated[RankingQuestion, Query()]
    ) -> Ranking:
        """Agents ranked by the lower bound of their satisfaction."""
        span = question.span(clock.now())
        return await ranking(pool, Project(tenant, project), span, question.min_votes, question.filters)

    @router.get(PROJECT + "/feedback/calibration")
    async def reliability(
        tenant: TenantPath, project: ProjectPath, question: Annotated[Window, Query()]
    ) -> Calibration:
        """Machine verdicts against explicit ones on the same turn."""
        return await calibration(pool, Project(tenant, project), question.span(clock.now()))

    return router
