"""PostgreSQL store of the read models. A batch is written by one or two calls, each followed by two for its pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import asyncpg

from contracts.feedback import FeedbackErased
from reporting.model.projection import FeedbackRow, MessageKey, MessageRow, SessionRow
from reporting.read_models.exchanges import completed, settle
from reporting.read_models.store import Applied
from reporting.sql import SQL
from servicekit.db.database import Database
from servicekit.db.statements import Statements

_SEPARATOR: Final = "\x1f"
_FEEDBACK: Final = tuple(f"feedback_{name}" for name in FeedbackRow._fields)
_GUARD: Final = ("guarded_tenant", "guarded_user")
_GONE: Final = ("gone_id", "gone_revision")
_SESSION: Final = tuple(f"session_{name}" for name in SessionRow._fields)
_TAGS: Final = FeedbackRow._fields.index("tags")
_ATTRIBUTES: Final = FeedbackRow._fields.index("attributes")
_ADOPT_SECONDS: Final = 3_600.0


class PostgresReadModels:
    """Store of the read models in PostgreSQL.

    The search path of the connection pool must be the service's schema.
    """

    def __init__(self, pool: asyncpg.Pool, sql: Statements = SQL) -> None:
        self._pool = pool
        self._apply = sql.apply_batch
        self._values = self._apply.reader(other={*_FEEDBACK, *_GONE, *_SESSION, *_GUARD})

    async def adopt(self) -> None:
        """Reset the transaction ids of rows that were restored from another server.

        Such ids may exceed this server's ids. If the server is the same as before, only a single row is read.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_server())
            if await connection.fetchval(*SQL.is_same_server()):
                return
            await connection.execute(*SQL.adopt_rows(), timeout=_ADOPT_SECONDS)
            await connection.execute(*SQL.delete_server())
            await connection.execute(*SQL.insert_server())

    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        # Messages first, so that the feedback of the batch finds its answers. Everything is written again after an
        # interruption, so the pairs are also updated for messages that did not change.
        written: set[MessageKey] = set()
        if messages:
            written = {tuple(row[0]) for row in await self._write(messages)}
            await settle(self._pool, {row.key for row in messages}, ())
        if messages and not (feedbacks or forgotten or sessions):
            return Applied({}, written, set())
        before: dict[UUID, FeedbackRow] = {}
        rated: set[UUID] = set()
        for _, session, *values in await self._write((), await completed(self._pool, feedbacks), forgotten, sessions):
            if session is not None:
                rated.add(session)
            else:
                row = FeedbackRow(*values)
                attributes = None if row.attributes is None else json.loads(str(row.attributes))
                before[row.feedback_id] = row._replace(tags=tuple(row.tags), attributes=attributes)
        await settle(self._pool, (), feedbacks)
        return Applied(before, written, rated)

    async def _write(
        self,
        messages: Sequence[MessageRow],
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> list[asyncpg.Record]:
        return await Database.call(
            self._pool,
            self._apply,
            [self._values(row) for row in messages],
            **_columns(_FEEDBACK, given_feedbacks(feedbacks)),
            **_columns(_GONE, forgotten),
            **_columns(_SESSION, sorted(set(sessions))),
        )


def _columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, list[object]]:
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def given_feedbacks(rows: Sequence[FeedbackRow]) -> list[tuple[object, ...]]:
    """Return the rows as parameters for `unnest`, with tags joined into one string and attributes as JSON."""
    return [
        (
            *(*row[:_TAGS], _SEPARATOR.join(row.tags), *row[_TAGS + 1 : _ATTRIBUTES]),
            *(row.attributes and json.dumps(row.attributes), *row[_ATTRIBUTES + 1 :]),
        )
        for row in rows
    ]
