"""Detection of changes to a project's feedback since a previous read."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.selection import Project
from reporting.snapshots import UNSEEN, snapshot_of, still_known

_CHANGED: Final = f"""
select exists (
    select from feedbacks f where f.tenant = $1 and f.project = $2 and {UNSEEN.format(row="f", snapshot="$3")}
) or exists (
    select from replies r where r.tenant = $1 and r.project = $2 and {UNSEEN.format(row="r", snapshot="$3")}
) or exists (
    select from forgotten g where {UNSEEN.format(row="g", snapshot="$3")}
)
"""


async def stamp(pool: asyncpg.Pool) -> str:
    """Return a stamp of the writes that any later read shows. Take the stamp first, then read."""
    async with pool.acquire() as connection:
        return str(await snapshot_of(connection))


async def changed_since(pool: asyncpg.Pool, at: Project, earlier: str) -> bool:
    """Return True if the project has writes that a read directly after the stamp `earlier` might not have shown.

    Also return True if the stamp comes from another database.
    """
    async with pool.acquire() as connection:
        seen = await still_known(connection, earlier, await snapshot_of(connection))
        return True if seen is None else bool(await connection.fetchval(_CHANGED, *at, seen))
