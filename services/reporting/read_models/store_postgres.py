"""PostgreSQL store of the read models. One call writes a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from contracts.feedback import FeedbackErased
from reporting.model.projection import FeedbackRow, MessageKey, MessageRow, SessionRow
from reporting.sql import SQL
from servicekit.db.database import Database
from servicekit.db.statements import Statements

_SEPARATOR: Final = "\x1f"
_PREFIXES: Final = ("feedback_", "gone_", "session_", "guarded_", "changed_", "judged_")
_ADOPT_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of writing a batch.

    Attributes:
        before: Revisions of the feedback records that were stored before the batch, by id.
        written: Keys of the messages that the batch added or changed.
        rated: Ids of the session ratings that the batch added.
    """

    before: Mapping[UUID, int]
    written: set[MessageKey]
    rated: set[UUID]


class PostgresReadModels:
    """Store of the read models in PostgreSQL.

    The search path of the connection pool must be the service's schema.
    """

    def __init__(self, pool: asyncpg.Pool, sql: Statements = SQL) -> None:
        self._pool = pool
        self._apply = sql.apply_batch
        other = [name for name in self._apply.values if name.startswith(_PREFIXES)]
        self._values = self._apply.reader(other=other)

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
        """Write a batch in one transaction.

        The question of each answer that the messages affect is updated, and feedback gets the properties of its answer.
        Messages and feedback must be sorted, with at most one row per key.

        Args:
            messages: A stored message gets the content of its highest version and the position of its earliest version.
            feedbacks: A stored feedback record is replaced only by a higher revision.
            forgotten: Records to delete up to the erased revision. Later writes of those revisions are rejected.
            sessions: Session ratings to add.
        """
        rows = await Database.call(
            self._pool,
            self._apply,
            [self._values(row) for row in messages],
            changed_conversations=[row.conversation_id for row in messages],
            judged_conversations=[row.conversation_id for row in feedbacks],
            **self._apply.columns("feedback_", feedback_parameters(feedbacks)),
            **self._apply.columns("gone_", forgotten),
            **self._apply.columns("session_", sorted(set(sessions))),
        )
        return Applied(
            before={record: revision for _, record, revision in rows if revision is not None},
            written={tuple(key) for key, _, _ in rows if key is not None},
            rated={record for _, record, revision in rows if record is not None and revision is None},
        )


def feedback_parameters(rows: Sequence[FeedbackRow]) -> list[tuple[object, ...]]:
    """Return the rows as parameters for `unnest`, with tags joined into one string and attributes as JSON."""
    tags, attributes = FeedbackRow._fields.index("tags"), FeedbackRow._fields.index("attributes")
    return [
        (
            *(*row[:tags], _SEPARATOR.join(row.tags), *row[tags + 1 : attributes]),
            *(row.attributes and json.dumps(row.attributes), *row[attributes + 1 :]),
        )
        for row in rows
    ]
