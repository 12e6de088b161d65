"""Session ratings in PostgreSQL: the backend of `agent_feedback_kit`, extended to mark announced ratings."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import asyncpg

from agent_feedback_kit.sessions.postgres import PostgresBackend, record_of
from agent_feedback_kit.sessions.record import SessionFeedbackRecord
from feedback.sql import SQL


class StoredRating(NamedTuple):
    tenant: str
    record: SessionFeedbackRecord


class PostgresSessions(PostgresBackend):
    """PostgreSQL store of session ratings that also marks announced ratings.

    A rating is marked after the log has acknowledged its announcement.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        super().__init__(pool)
        self._asyncpg = pool

    async def unannounced(self, limit: int) -> list[StoredRating]:
        """Return at most `limit` ratings that are not marked as announced, oldest first."""
        rows = await self._asyncpg.fetch(*SQL.unannounced_ratings(limit=limit))
        return [StoredRating(row["tenant"], record_of(row)) for row in rows]

    async def mark(self, ratings: Collection[StoredRating]) -> None:
        """Mark ratings as announced."""
        rows = [(rating.tenant, rating.record.id) for rating in ratings]
        await self._asyncpg.execute(*SQL.mark_ratings_announced.bulk(rows))
