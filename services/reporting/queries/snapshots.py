"""Snapshots of reads, so that a later read can return exactly the rows that an earlier read did not show.

A timestamp does not work: the row with the earliest timestamp may be committed last. A PostgreSQL snapshot identifies
the transactions whose writes it shows, and each row of `feedbacks` has the id of its transaction.
"""

from __future__ import annotations

from typing import NamedTuple

import asyncpg

from reporting.read_models.database import Connection
from reporting.sql import SQL


class Snapshot(NamedTuple):
    """Snapshot of a database server.

    `server` changes with the database cluster and its timeline, because another server has other transaction ids.
    """

    server: str
    seen: str

    def __str__(self) -> str:
        return f"{self.server}/{self.seen}"


async def snapshot_of(connection: Connection) -> Snapshot:
    """Return the current snapshot of this connection's transaction."""
    row = await connection.fetchrow(*SQL.current_server())
    assert row is not None
    return Snapshot(row["server"], row["seen"])


async def usable_watermark(connection: Connection, text: str, now: Snapshot) -> str | None:
    """Return the PostgreSQL snapshot in the `text` of an earlier Snapshot.

    None if the text does not belong to this server: the database was moved or restored, or the text is forged.
    """
    server, _, seen = text.partition("/")
    if server != now.server:
        return None
    try:
        async with connection.transaction():
            return seen if await connection.fetchval(*SQL.is_known_snapshot(seen=seen)) else None
    except asyncpg.DataError:
        return None
