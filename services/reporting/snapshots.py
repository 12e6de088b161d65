"""Transactions that a read has seen, so that the next read asks for the others and misses nothing.

A time of ours cannot serve: a row may be stamped first and committed last. PostgreSQL's snapshot names exactly the
transactions whose writes it shows, whatever their order; each row of `feedbacks` carries its transaction.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import asyncpg

from reporting.database import Connection


class Snapshot(NamedTuple):
    """`server` changes with the database cluster and its timeline: another server counts transactions anew."""

    server: str
    seen: str

    def __str__(self) -> str:
        return f"{self.server}/{self.seen}"


_SERVER: Final = """
(select system_identifier from pg_control_system()) || '.' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
"""
_NOW: Final = f"select {_SERVER} as server, pg_current_snapshot()::text as seen"
_KNOWN: Final = "select pg_snapshot_xmax($1::text::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())"

UNSEEN: Final = """({row}.written_by >= pg_snapshot_xmin({snapshot}::text::pg_snapshot)
 and not pg_visible_in_snapshot({row}.written_by, {snapshot}::text::pg_snapshot))"""
"""Whether a snapshot, a parameter, did not show `row` as it is. The first half is for an index on `written_by`."""


async def snapshot_of(connection: Connection) -> Snapshot:
    """Return the snapshot of a repeatable read on this connection."""
    row = await connection.fetchrow(_NOW)
    assert row is not None
    return Snapshot(row["server"], row["seen"])


async def still_known(connection: Connection, text: str, now: Snapshot) -> str | None:
    """PostgreSQL's part of an earlier snapshot's `text`.

    None where it says nothing about this server: the database was moved or restored, or the text was made up.
    """
    server, _, seen = text.partition("/")
    if server != now.server:
        return None
    try:
        async with connection.transaction():
            return seen if await connection.fetchval(_KNOWN, seen) else None
    except asyncpg.DataError:
        return None
