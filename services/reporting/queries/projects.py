"""Queries for the list of projects, a project's agents and its first reaction."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.selection import Project

MOST_PROJECTS: Final = 500

# Each step jumps to the next pair in the index, so the cost is one probe per project instead of one per row.
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
    select f.written_by from feedbacks f where f.tenant = k.tenant and f.project = k.project
    order by f.written_by desc limit 1
) as written_by
from known k
where ($1::text is null or tenant = $1) and ($2::text is null or project = $2)
order by written_by desc nulls last, tenant, project
limit $3
"""
_AGENTS: Final = """
with recursive known as (
    (select agent_id from feedbacks where tenant = $1 and project = $2 and reaction is not null
     order by agent_id limit 1)
    union all
    select next.agent_id from known last cross join lateral (
        select agent_id from feedbacks f
        where f.tenant = $1 and f.project = $2 and f.agent_id > last.agent_id and f.reaction is not null
        order by f.agent_id limit 1
    ) next
)
select agent_id from known limit $3
"""
_KNOWN: Final = """
select exists (select from messages where tenant = $1 and project = $2)
    or exists (select from feedbacks where tenant = $1 and project = $2)
"""
_FIRST: Final = """
select least(
    (select occurred_at from feedbacks where tenant = $1 and project = $2 and reaction is not null
     order by occurred_at limit 1),
    (select occurred_at from live_replies where tenant = $1 and project = $2 order by occurred_at limit 1))
"""


async def projects(pool: asyncpg.Pool, tenant: str | None, project: str | None) -> list[Project]:
    """List at most 500 projects of `tenant` and `project` (None for any), most recently written first."""
    rows = await pool.fetch(_PROJECTS, tenant, project, MOST_PROJECTS)
    return [Project(row["tenant"], row["project"]) for row in rows]


async def is_known(pool: asyncpg.Pool, at: Project) -> bool:
    """Return True if the project has any message or feedback record."""
    known: bool = await pool.fetchval(_KNOWN, *at)
    return known


async def first_reaction(pool: asyncpg.Pool, at: Project) -> int | None:
    """Return the time of the project's oldest reaction or reply, in microseconds; None if it has neither."""
    moment: int | None = await pool.fetchval(_FIRST, *at)
    return moment


async def agent_ids(pool: asyncpg.Pool, at: Project, most: int = 500) -> list[str]:
    """List the project's agents with live feedback, sorted by id."""
    return [row["agent_id"] for row in await pool.fetch(_AGENTS, *at, most)]
