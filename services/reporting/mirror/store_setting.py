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
_CONVERSATION: Final = ("tenant", "project", "conversation_id")


async def set_store(pool: asyncpg.Pool, url: str | None, *, turn_logs: bool) -> None:
    """Set the object store, or disable replication if `url` is None.

    From now on, every change to a turn marks the turn as stale. Existing turns are marked in batches by `mark_more`.

    Raises:
        StartError: If the previous object store still contains objects. Erasures could no longer delete them.
    """
    async with pool.acquire() as connection:
        await _adopt(connection, url, turn_logs)
        await mark_more(connection)


async def _adopt(connection: Connection, url: str | None, turn_logs: bool) -> None:
    async with connection.transaction():
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
        # Wait for concurrent writers, because they do not mark turns yet. `mark_more` finds their rows later.
        await connection.execute(*SQL.wait_for_writers(), timeout=_SECONDS)
        await connection.execute(*SQL.delete_store())
        if url is None:
            await connection.execute(*SQL.delete_marks(), timeout=_SECONDS)
            return
        await connection.execute(*SQL.set_store(url=url, turn_logs=turn_logs))


async def mark_more(connection: Connection) -> bool:
    """Mark a batch of turns that were stored before the object store was set.

    A batch covers a limited number of conversations.

    Returns:
        False if all turns have been marked.
    """
    async with connection.transaction():
        position = await connection.fetchrow(*SQL.place_of_marks())
        if position is None:
            return False
        await connection.execute(*SQL.read_by_index())
        after = {"turn_logs": position["turn_logs"], **dict(zip(_CONVERSATION, position["marked_to"], strict=True))}
        end = await connection.fetchrow(*SQL.end_of_range(**after))
        if end is None:
            await connection.execute(*SQL.mark_rest(**after))
        else:
            last = {f"last_{name}": end[name] for name in _CONVERSATION}
            await connection.execute(*SQL.mark_range(**after, **last))
        await connection.execute(*SQL.note_marks(marked_to=None if end is None else list(end)))
        return True
