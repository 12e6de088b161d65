"""Detection of changes to a project's feedback since an earlier read."""

from __future__ import annotations

import asyncpg

from reporting.model.selection import Project
from reporting.sql import SQL
from reporting.turns.snapshots import snapshot_of, usable_watermark


async def stamp(pool: asyncpg.Pool) -> str:
    """Return a stamp that identifies the current state of the database.

    Take the stamp before reading the data.
    """
    async with pool.acquire() as connection:
        return str(await snapshot_of(connection))


async def changed_since(pool: asyncpg.Pool, at: Project, earlier: str) -> bool:
    """Return True if the project's data has changed since the stamp `earlier` was taken.

    Also returns True if the stamp comes from another database.
    """
    async with pool.acquire() as connection:
        seen = await usable_watermark(connection, earlier, await snapshot_of(connection))
        return True if seen is None else bool(await connection.fetchval(*SQL.has_changed(**at._asdict(), seen=seen)))
