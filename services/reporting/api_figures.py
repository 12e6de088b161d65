"""The reporting HTTP API's figures: satisfaction, agents, and how far machine verdicts can be trusted."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from fastapi import APIRouter, Depends, Query

from contracts.scopes import READ
from reporting.api import FAILURES, PROJECT, ProjectPath, TenantPath
from reporting.queries.calibration import Calibration, calibration
from reporting.queries.reasons import Reasons, reasons
from reporting.queries.satisfaction import Ranking, Summary, ranking, summary
from reporting.questions import Narrowed, RankingQuestion, SummaryQuestion
from reporting.selection import Project
from servicekit.clock import Clock
from servicekit.http.auth import caller_of
from servicekit.http.permissions import Permissions, needs

PERMISSIONS: Permissions = {
    ("GET", PROJECT + "/feedback/summary"): needs(READ),
    ("GET", PROJECT + "/feedback/agents"): needs(READ),
    ("GET", PROJECT + "/feedback/calibration"): needs(READ),
    ("GET", PROJECT + "/feedback/reasons"): needs(READ),
}


def figures_router(pool: asyncpg.Pool, clock: Clock) -> APIRouter:
    """Figures about a project."""
    router = APIRouter(dependencies=[Depends(caller_of)], responses=FAILURES, tags=["reporting"])

    @router.get(PROJECT + "/feedback/summary")
    async def satisfaction(
        tenant: TenantPath, project: ProjectPath, question: Annotated[SummaryQuestion, Query()]
    ) -> Summary:
        """Give satisfaction by time, agent, agent version and origin."""
        span = question.span(clock.now())
        return await summary(pool, Project(tenant, project), span, question.bucket, question.filters)

    @router.get(PROJECT + "/feedback/agents")
    async def agents(
        tenant: TenantPath, project: ProjectPath, question: Annotated[RankingQuestion, Query()]
    ) -> Ranking:
        """Rank agents by the lower bound of their satisfaction."""
        span = question.span(clock.now())
        return await ranking(pool, Project(tenant, project), span, question.min_votes, question.filters)

    @router.get(PROJECT + "/feedback/calibration")
    async def reliability(
        tenant: TenantPath, project: ProjectPath, question: Annotated[Narrowed, Query()]
    ) -> Calibration:
        """Compare machine verdicts with people's, explicit or by emoji, on the same turn."""
        return await calibration(pool, Project(tenant, project), question.span(clock.now()), question.filters)

    @router.get(PROJECT + "/feedback/reasons")
    async def why(tenant: TenantPath, project: ProjectPath, question: Annotated[Narrowed, Query()]) -> Reasons:
        """Count the reasons given: people's tags, and how the machine saw answers rejected."""
        return await reasons(pool, Project(tenant, project), question.span(clock.now()), question.filters)

    return router
