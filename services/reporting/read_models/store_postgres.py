"""Storage of the read models in PostgreSQL, with one statement per table and batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args
from uuid import UUID

import asyncpg

from reporting.read_models.database import Connection
from reporting.read_models.projection import FeedbackRow, Forgotten, MessageKey, MessageRow, SessionRow
from reporting.read_models.store import Applied
from reporting.sql import SQL
from servicekit import Statements

_SEPARATOR: Final = "\x1f"
_TAGS: Final = FeedbackRow._fields.index("tags")
_ADOPT_SECONDS: Final = 3_600.0

FeedbackTable = Literal["feedbacks", "replies"]
FEEDBACK_TABLES: Final[tuple[FeedbackTable, ...]] = get_args(FeedbackTable)
IS_LIVE: Final[dict[FeedbackTable, str]] = {"feedbacks": "reaction is not null", "replies": "value is not null"}
"""SQL condition of records that are not cleared, by table; each has an index of those rows."""


class PostgresReadModels:
    """Read models' storage on a pool whose connections use the service's schema."""

    def __init__(self, pool: asyncpg.Pool, sql: Statements = SQL) -> None:
        self._pool = pool
        self._upsert_messages = sql.upsert_messages
        self._values = self._upsert_messages.reader()

    async def adopt(self) -> None:
        """Mark rows from another server's dump as written long ago, because its transaction ids may exceed ours.

        Reads one row, except on the first start on another server.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_server())
            if await connection.fetchval(*SQL.is_same_server()):
                return
            for table in (*FEEDBACK_TABLES, "forgotten", "stale_hours"):
                await connection.execute(*SQL.adopt_rows.filled(table=table)(), timeout=_ADOPT_SECONDS)
            await connection.execute(*SQL.delete_server())
            await connection.execute(*SQL.insert_server())

    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[Forgotten] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        if not (feedbacks or forgotten or sessions):  # one statement, so it needs no transaction around it
            async with self._pool.acquire() as connection:
                return Applied({}, await self._write_messages(connection, messages), set())
        async with self._pool.acquire() as connection, connection.transaction():
            written = await self._write_messages(connection, messages)
            before: dict[UUID, FeedbackRow] = {}
            for table, rows in by_table(feedbacks).items():
                before |= await self._write_feedbacks(connection, table, rows)
            if forgotten:
                await connection.execute(*SQL.forget_feedbacks.bulk(forgotten))
            rated = await connection.fetch(*SQL.insert_sessions.bulk(sorted(set(sessions)))) if sessions else ()
        return Applied(before, written, {row["id"] for row in rated})

    async def _write_messages(self, connection: Connection, rows: Sequence[MessageRow]) -> set[MessageKey]:
        if not rows:
            return set()
        written = await connection.fetch(*self._upsert_messages.bulk([self._values(row) for row in rows]))
        return {(row[0], row[1], row[2], row[3]) for row in written}

    async def _write_feedbacks(
        self, connection: Connection, table: FeedbackTable, rows: Sequence[FeedbackRow]
    ) -> dict[UUID, FeedbackRow]:
        lock, upsert = (one.filled(table=table) for one in (SQL.lock_feedbacks, SQL.upsert_feedbacks))
        held = await connection.fetch(*lock(feedback_ids=[row.feedback_id for row in rows]))
        await connection.execute(*upsert.bulk(given_feedbacks(rows)))
        return {row["feedback_id"]: FeedbackRow(*row.values())._replace(tags=tuple(row["tags"])) for row in held}


def by_table(rows: Sequence[FeedbackRow]) -> dict[FeedbackTable, list[FeedbackRow]]:
    """Return the rows of each table that has any, in the tables' order."""
    found: dict[FeedbackTable, list[FeedbackRow]] = {
        "feedbacks": [row for row in rows if row.is_verdict],
        "replies": [row for row in rows if not row.is_verdict],
    }
    return {table: some for table, some in found.items() if some}


def given_feedbacks(rows: Sequence[FeedbackRow]) -> list[tuple[object, ...]]:
    """Return the rows as a statement unnests them, with the tags of a row joined into one text."""
    return [(*row[:_TAGS], _SEPARATOR.join(row.tags), *row[_TAGS + 1 :]) for row in rows]
