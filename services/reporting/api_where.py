"""Route that says which revision of feedback records reporting holds, and whether they count."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Final
from uuid import UUID

import asyncpg
from fastapi import APIRouter, Depends, Query

from reporting.api import FAILURES, ProjectPath, TenantPath
from servicekit.log.journal import FOUND_LIMIT
from servicekit.web.auth import caller_of
from servicekit.web.journal import WHERE, FeedbackState, WhereFound

PATH: Final = WHERE + "reports"
_FIND: Final = """
select f.feedback_id, f.revision, exists (
    select from effective e where e.feedback_id = f.feedback_id and e.tenant = $1 and e.project = $2) as counted
from (select * from feedbacks union all select * from replies) f
where f.feedback_id = any($3::uuid[]) and f.tenant = $1 and f.project = $2
order by f.feedback_id
"""


async def counted(
    pool: asyncpg.Pool, tenant: str, project: str, feedback_ids: Collection[str | UUID]
) -> list[FeedbackState]:
    """Return the revisions of feedback records that the reports hold, and whether they count."""
    rows = await pool.fetch(_FIND, tenant, project, [UUID(str(one)) for one in feedback_ids])
    return [
        FeedbackState(
            feedback_id=str(row["feedback_id"]),
            revision=row["revision"],
            state="counted" if row["counted"] else "not counted",
        )
        for row in rows
    ]


def where_router(pool: asyncpg.Pool) -> APIRouter:
    """Return the route."""
    router = APIRouter(dependencies=[Depends(caller_of)], responses=FAILURES, tags=["reporting"])

    @router.get(PATH)
    async def find_counted(
        tenant: TenantPath,
        project: ProjectPath,
        feedback_id: Annotated[
            list[UUID], Query(max_length=FOUND_LIMIT, description="Feedback records; a reply never counts.")
        ],
    ) -> WhereFound:
        """Say which revision of feedback records the reports hold, and whether they count. `records` is empty."""
        return WhereFound(records=[], feedbacks=await counted(pool, tenant, project, feedback_id))

    return router
