"""Setting of the object store for artifacts, and marking of the turns that were stored before it was set."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.database import Connection
from servicekit import StartError, shown

_SECONDS: Final = 3_600.0
_STRETCH: Final = 5_000
"""Number of rows per table that are marked at once; a conversation is never divided."""
_HOSTED: Final = "select exists (select from hosted_artifacts)"
_BEGIN: Final = 'insert into artifact_store (url, turn_logs, marked_to) values ($1, $2, \'{"","",""}\')'
_PLACE: Final = "select turn_logs, marked_to from artifact_store where marked_to is not null for update"
_HERE: Final = "tenant, project, conversation_id"
_AFTER: Final = f"({_HERE}) > ($2::text, $3::text, $4::text)"
_UP_TO: Final = f" and ({_HERE}) <= ($5::text, $6::text, $7::text)"
_TABLES: Final = {
    "feedbacks": "reaction is not null",
    "hosted_artifacts": "true",
    "messages": "$1::boolean and turn_id is not null",
}
"""Tables with turns to mark, and the condition on their rows; `$1` is True if turn logs are replicated."""
# PostgreSQL estimates that very few rows follow a position, so it would read and sort all of them for every range.
_BY_INDEX: Final = (
    "set local enable_sort = off; set local enable_incremental_sort = off; set local enable_seqscan = off"
)
_ENDS: Final = " union all ".join(
    f"(select {_HERE} from {table} where {rows} and {_AFTER} order by {_HERE} offset {_STRETCH} limit 1)"
    for table, rows in _TABLES.items()
)
_END: Final = f"select {_HERE} from ({_ENDS}) ends order by {_HERE} limit 1"


def _mark(until: str) -> str:
    turns = " union ".join(
        f"select {_HERE}, turn_id from {table} where {rows} and {_AFTER}{until}" for table, rows in _TABLES.items()
    )
    return f"insert into stale_turns ({_HERE}, turn_id) {turns}"


_MARK: Final = _mark(_UP_TO)
_MARK_REST: Final = _mark("")


async def set_store(pool: asyncpg.Pool, url: str | None, *, turn_logs: bool) -> None:
    """Set the object store whose turns are marked as stale on each change; `url` is None for no store.

    `mark_more` marks the turns that exist already, range by range. Raises StartError if there are objects in another
    store, because erasures would not delete them.
    """
    async with pool.acquire() as connection:
        await _adopt(connection, url, turn_logs)
        await mark_more(connection)


async def _adopt(connection: Connection, url: str | None, turn_logs: bool) -> None:
    async with connection.transaction():
        await connection.execute("lock table artifact_store in exclusive mode")
        held = await connection.fetchrow("select url, turn_logs from artifact_store")
        if (None if held is None else (held["url"], held["turn_logs"])) == (None if url is None else (url, turn_logs)):
            return
        if held is not None and held["url"] != url and await connection.fetchval(_HOSTED):
            raise StartError(
                f"There are artifacts in {shown(held['url'])}: set ARTIFACT_STORE_URL to that store, so that erasures "
                "delete them; or delete them there and run `delete from reporting.hosted_artifacts`."
            )
        # Concurrent writers do not know yet that they must mark turns. Wait for them: `mark_more` will find their rows.
        await connection.execute("lock table feedbacks, messages in share mode", timeout=_SECONDS)
        await connection.execute("delete from artifact_store")
        if url is None:
            await connection.execute("delete from stale_turns", timeout=_SECONDS)
            return
        await connection.execute(_BEGIN, url, turn_logs)


async def mark_more(connection: Connection) -> bool:
    """Mark the turns of the next conversations that are older than the store. Return False once all are marked."""
    async with connection.transaction():
        place = await connection.fetchrow(_PLACE)
        if place is None:
            return False
        await connection.execute(_BY_INDEX)
        after = (place["turn_logs"], *place["marked_to"])
        end = await connection.fetchrow(_END, *after)
        if end is None:
            await connection.execute(_MARK_REST, *after)
        else:
            await connection.execute(_MARK, *after, *end)
        await connection.execute("update artifact_store set marked_to = $1", None if end is None else list(end))
        return True
