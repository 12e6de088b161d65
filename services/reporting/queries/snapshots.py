"""Database snapshots of reads. They let a later read return exactly the rows that an earlier read did not show.

A timestamp cannot do this, because the row with the earliest timestamp may be committed last. A PostgreSQL snapshot
identifies the transactions whose writes are visible, and each row of `feedbacks` has its transaction's id.
"""

from __future__ import annotations

from typing import NamedTuple

import asyncpg

from reporting.read_models.database import Connection
from reporting.sql import SQL


class Snapshot(NamedTuple):
    """Snapshot of a database server.

    `server` identifies the database cluster and its timeline. Transaction ids are comparable only on the same server.
    """

    server: str
    seen: str

    def __str__(self) -> str:
        return f"{self.server}/{self.seen}"


async def snapshot_of(connection: Connection) -> Snapshot:
    """Return the connection's current snapshot."""
    row = await connection.fetchrow(*SQL.current_server())
    assert row is not None
    return Snapshot(row["server"], row["seen"])


async def usable_watermark(connection: Connection, text: str, now: Snapshot) -> str | None:
    """Return the PostgreSQL snapshot in `text`, the text representation of an earlier Snapshot.

    None if the text is not from this server, because the database was moved or restored or the text is forged.
    """
    server, _, seen = text.partition("/")
    if server != now.server:
        return None
    try:
        async with connection.transaction():
            return seen if await connection.fetchval(*SQL.is_known_snapshot(seen=seen)) else None
    except asyncpg.DataError:
        return None
