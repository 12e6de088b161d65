"""Database snapshots as watermarks.

With a watermark, a later read returns exactly the rows that an earlier read did not see. A timestamp cannot serve as a
watermark, because a row with an earlier timestamp may be committed later. A PostgreSQL snapshot contains the ids of the
visible transactions, and each row of `feedbacks` stores the id of its transaction.
"""

from __future__ import annotations

import asyncpg

from reporting.sql import SQL
from reporting.sql.connection import Connection


async def snapshot_of(connection: Connection) -> str:
    """Return the connection's current snapshot as `server/seen`, where `seen` is a PostgreSQL snapshot.

    `server` identifies the database cluster and its timeline, because transaction ids of two servers are not
    comparable.
    """
    return str(await connection.fetchval(*SQL.server_snapshot()))


async def usable_watermark(connection: Connection, earlier: str, now: str) -> str | None:
    """Return the PostgreSQL snapshot of an earlier `snapshot_of`.

    Returns None if it is not a snapshot of this server, because the database was moved or restored, or the text was
    forged.
    """
    server, _, seen = earlier.partition("/")
    if server != now.partition("/")[0]:
        return None
    try:
        async with connection.transaction():
            return seen if await connection.fetchval(*SQL.is_known_snapshot(seen=seen)) else None
    except asyncpg.DataError:
        return None
