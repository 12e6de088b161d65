"""Session ratings in PostgreSQL: the backend of `agent_feedback_kit`, extended to mark announced ratings."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import asyncpg

from agent_feedback_kit.sessions.postgres import PostgresBackend, record_of
from agent_feedback_kit.sessions.record import DEFAULT_TENANT, SessionFeedbackRecord, parse_time
from feedback.sql import SQL


class StoredRating(NamedTuple):
    tenant: str
    record: SessionFeedbackRecord


class PostgresSessions(PostgresBackend):
    """PostgreSQL store of session ratings that also marks announced ratings.

    A rating is marked after the log has acknowledged its announcement.

    Without an idempotency key, a person has one rating per end of a session: a later rating replaces it, unless the
    session has been resumed, which its number of turns shows. Within a minute, a later rating replaces it in any case,
    because a retry may count turns that were not known at first.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        super().__init__(pool)
        self._asyncpg = pool

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        user_id = record.user_id_or_null
        if record.idempotency_key is not None or user_id is None:
            return await super().arecord(record, tenant=tenant)
        rater = {"tenant": tenant, "session": record.session_id_opaque, "user_id": user_id}
        replacement = SQL.replace_rating(
            **rater,
            label=record.label,
            recorded_at=parse_time(record.recorded_at),
            turns=record.turn_count_at_end,
            source=record.source,
        )
        async with self._asyncpg.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_rater(**rater))
            replaced = await connection.fetchrow(*replacement)
            if replaced is not None:
                return record_of(replaced)
            return await PostgresBackend(connection).arecord(record, tenant=tenant)

    async def unannounced(self, limit: int) -> list[StoredRating]:
        """Return at most `limit` ratings that are not marked as announced, oldest first."""
        rows = await self._asyncpg.fetch(*SQL.unannounced_ratings(limit=limit))
        return [StoredRating(row["tenant"], record_of(row)) for row in rows]

    async def mark(self, ratings: Collection[StoredRating]) -> None:
        """Mark ratings as announced, except those that have been replaced since."""
        rows = [(rating.tenant, rating.record.id, parse_time(rating.record.recorded_at)) for rating in ratings]
        await self._asyncpg.execute(*SQL.mark_ratings_announced.bulk(rows))
