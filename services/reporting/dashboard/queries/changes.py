"""Detect changes to a project's feedback since a previous read."""

from __future__ import annotations

import asyncpg

from reporting.queries.selection import Project
from reporting.queries.snapshots import snapshot_of, usable_watermark
from reporting.sql import SQL


async def stamp(pool: asyncpg.Pool) -> str:
    """Return a stamp of the writes that are visible now. Take the stamp before reading the data to show."""
    async with pool.acquire() as connection:
        return str(await snapshot_of(connection))


async def changed_since(pool: asyncpg.Pool, at: Project, earlier: str) -> bool:
    """Return True if the project has writes that were not visible when the stamp `earlier` was taken.

    Also return True if the stamp comes from another database.
    """
    async with pool.acquire() as connection:
        seen = await usable_watermark(connection, earlier, await snapshot_of(connection))
        return True if seen is None else bool(await connection.fetchval(*SQL.has_changed(**at._asdict(), seen=seen)))
