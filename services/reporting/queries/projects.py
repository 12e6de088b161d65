"""Which projects there are, for whoever may choose among them."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.scope import Project

MOST_PROJECTS: Final = 500

# Each step jumps to the next pair in the index, so the cost is one probe a project, not a row.
_PROJECTS: Final = """
with recursive chatting as (
    (select tenant, project from messages order by tenant, project limit 1)
    union all
    select next.* from chatting last cross join lateral (
        select tenant, project from messages m where (m.tenant, m.project) > (last.tenant, last.project)
        order by tenant, project limit 1
    ) next
), judging as (
    (select tenant, project from feedbacks order by tenant, project limit 1)
    union all
    select next.* from judging last cross join lateral (
        select tenant, project from feedbacks f where (f.tenant, f.project) > (last.tenant, last.project)
        order by tenant, project limit 1
    ) next
), known as (
    select * from chatting union select * from judging
)
select tenant, project, (
    select f.recorded_at from feedbacks f where f.tenant = k.tenant and f.project = k.project
    order by f.recorded_at desc limit 1
) as recorded_at
from known k
where ($1::text is null or tenant = $1) and ($2::text is null or project = $2)
order by recorded_at desc nulls last, tenant, project
limit $3
"""
_STAMP: Final = """
select recorded_at from feedbacks where tenant = $1 and project = $2 order by recorded_at desc limit 1
"""
_FIRST: Final = """
select occurred_at from feedbacks where tenant = $1 and project = $2 and reaction is not null
order by occurred_at limit 1
"""


async def projects(pool: asyncpg.Pool, tenant: str | None, project: str | None) -> list[Project]:
    """The projects a caller bound to `tenant` and `project` (None: any) may see, latest feedback first."""
    rows = await pool.fetch(_PROJECTS, tenant, project, MOST_PROJECTS)
    return [Project(row["tenant"], row["project"]) for row in rows]


async def last_recorded(pool: asyncpg.Pool, at: Project) -> int:
    """When a feedback of the project was last recorded, in microseconds; 0 where there is none."""
    return await pool.fetchval(_STAMP, *at) or 0


async def first_reaction(pool: asyncpg.Pool, at: Project) -> int | None:
    """When the project's oldest reaction was given, in microseconds."""
    moment: int | None = await pool.fetchval(_FIRST, *at)
    return moment
