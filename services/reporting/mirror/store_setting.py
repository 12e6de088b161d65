"""Configuration of the object store for artifacts.

When an object store is configured, the turns that are already stored are marked, so that they are replicated too.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.errors import StartError

_SECONDS: Final = 3_600.0


async def set_store(pool: asyncpg.Pool, url: str | None, *, turn_logs: bool) -> None:
    """Set the object store, or disable replication if `url` is None.

    From now on, every change to a turn marks the turn as stale. `mark_older_turns` marks the existing turns.

    Raises:
        StartError: If the previous object store still contains objects. Erasures could no longer delete them.
    """
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(*SQL.lock_store())
        current = await connection.fetchrow(*SQL.current_store())
        if (None if current is None else (current["url"], current["turn_logs"])) == (
            None if url is None else (url, turn_logs)
        ):
            return
        if current is not None and current["url"] != url and await connection.fetchval(*SQL.has_hosted()):
            raise StartError(
                f"There are artifacts in {current['url']}: set ARTIFACT_STORE_URL to that store, so that erasures "
                "delete them; or delete them there and run `delete from reporting.hosted_artifacts`."
            )
        # Wait for concurrent writers, because they do not mark turns yet. `mark_older_turns` finds their rows later.
        await connection.execute(*SQL.wait_for_writers(), timeout=_SECONDS)
        await connection.execute(*SQL.delete_store())
        if url is None:
            await connection.execute(*SQL.delete_marks(), timeout=_SECONDS)
            return
        await connection.execute(*SQL.set_store(url=url, turn_logs=turn_logs))


async def mark_older_turns(connection: Connection) -> None:
    """Mark the turns that were stored before the object store was set, unless they are already marked."""
    async with connection.transaction():
        turn_logs = await connection.fetchval(*SQL.unmarked_store())
        if turn_logs is not None:
            await connection.execute(*SQL.mark_all_turns(turn_logs=turn_logs), timeout=_SECONDS)
            await connection.execute(*SQL.note_marked_store())
