"""Sets which object store the read models are mirrored to: changes are marked for it, or not."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.database import Connection
from servicekit.db.pools import shown
from servicekit.errors import StartError

_SECONDS: Final = 3_600.0
_STRETCH: Final = 5_000
"""Rows of each table that are looked through for turns at once; a conversation is never divided."""
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
"""Where turns are found, and in which rows; `$1` says whether turns' logs are mirrored."""
# PostgreSQL takes next to nothing to come after a place; so it would read and sort all that does, for every stretch.
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


async def adopt(pool: asyncpg.Pool, url: str | None, *, turn_logs: bool) -> None:
    """Have changes of turns marked for the store at `url`; None for none. What is there, `mark_more` goes on to mark.

    Raises StartError where objects lie in another store: no erasure would reach them.
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
                f"Artifacts lie in {shown(held['url'])}: set ARTIFACT_STORE_URL to that, so that erasures reach them; "
                "or delete them there and run `delete from reporting.hosted_artifacts`."
            )
        # Whoever is writing has not seen whether to mark: their rows are waited for, and found by `mark_more`.
        await connection.execute("lock table feedbacks, messages in share mode", timeout=_SECONDS)
        await connection.execute("delete from artifact_store")
        if url is None:
            await connection.execute("delete from stale_turns", timeout=_SECONDS)
            return
        await connection.execute(_BEGIN, url, turn_logs)


async def mark_more(connection: Connection) -> bool:
    """Mark turns of the next conversations that were there before the store; False where all are marked."""
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
