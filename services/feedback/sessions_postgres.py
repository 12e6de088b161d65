"""Session ratings in the service's PostgreSQL: the kit's backend with a mark for announced ratings."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

import asyncpg

from agent_feedback_kit.sessions.postgres import FIELDS, PostgresBackend, record_of
from agent_feedback_kit.sessions.record import SessionFeedbackRecord

_UNANNOUNCED = f"select tenant, {FIELDS} from session_feedback where not announced order by recorded_at limit $1"
_MARK = """
update session_feedback s set announced = true
from unnest($1::text[], $2::uuid[]) as announced (tenant, id) where s.tenant = announced.tenant and s.id = announced.id
"""


class KeptRating(NamedTuple):
    tenant: str
    record: SessionFeedbackRecord


class PostgresSessions(PostgresBackend):
    """See `SessionFeedbackBackend`. A rating is marked once the log has acknowledged its announcement."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        super().__init__(pool)
        self._asyncpg = pool

    async def unannounced(self, limit: int) -> list[KeptRating]:
        """Return at most `limit` unmarked ratings, the oldest first."""
        rows = await self._asyncpg.fetch(_UNANNOUNCED, limit)
        return [KeptRating(row["tenant"], record_of(row)) for row in rows]

    async def mark(self, ratings: Collection[KeptRating]) -> None:
        """Mark ratings as announced."""
        ids: list[UUID] = [rating.record.id for rating in ratings]
        await self._asyncpg.execute(_MARK, [rating.tenant for rating in ratings], ids)
