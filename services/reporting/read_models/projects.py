"""Queries for the list of projects, and for a project's agents and first reaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncpg

from reporting.model.selection import Project
from reporting.sql import SQL

MOST_PROJECTS: Final = 500


async def projects(pool: asyncpg.Pool, tenant: str | None = None, names: Sequence[str] | None = None) -> list[Project]:
    """Return at most 500 projects, the most recently written first.

    Args:
        tenant: Only return projects of this tenant.
        names: Only return projects with these names.
    """
    rows = await pool.fetch(*SQL.list_projects(tenant=tenant, projects=names, limit=MOST_PROJECTS))
    return [Project(row["tenant"], row["project"]) for row in rows]


async def is_known(pool: asyncpg.Pool, project: Project) -> bool:
    """Return True if the project has at least one message or feedback record."""
    exists: bool = await pool.fetchval(*SQL.is_known_project(**project._asdict()))
    return exists


async def first_reaction(pool: asyncpg.Pool, project: Project) -> int | None:
    """Return the time of the project's oldest reaction or reply, in microseconds, or None if it has neither."""
    moment: int | None = await pool.fetchval(*SQL.first_reaction(**project._asdict()))
    return moment


async def agent_ids(pool: asyncpg.Pool, project: Project, most: int = 500) -> list[str]:
    """Return the ids of the agents that have live feedback in the project, sorted."""
    rows = await pool.fetch(*SQL.list_agents(**project._asdict(), limit=most))
    return [row["agent_id"] for row in rows]
