"""Database snapshots as watermarks.

With a watermark, a later read returns exactly the rows that an earlier read did not see. A timestamp cannot serve as a
watermark, because a row with an earlier timestamp may be committed later. A PostgreSQL snapshot contains the ids of the
visible transactions, and each row of `feedbacks` stores the id of its transaction.
"""

from __future__ import annotations

from typing import NamedTuple

import asyncpg

from reporting.sql import SQL
from reporting.sql.connection import Connection


class Snapshot(NamedTuple):
    """Snapshot of a database server.

    Attributes:
        server: Identifies the database cluster and its timeline. Transaction ids are comparable only on the same
            server.
        seen: The PostgreSQL snapshot.
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
    """Return the PostgreSQL snapshot from the text of an earlier `Snapshot`.

    Returns None if it is not a snapshot of this server, because the database was moved or restored, or the text was
    forged.
    """
    server, _, seen = text.partition("/")
    if server != now.server:
        return None
    try:
        async with connection.transaction():
            return seen if await connection.fetchval(*SQL.is_known_snapshot(seen=seen)) else None
    except asyncpg.DataError:
        return None
