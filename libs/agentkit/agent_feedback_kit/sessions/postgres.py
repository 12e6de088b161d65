"""Backend that stores ratings in PostgreSQL, using an asyncpg pool (package extra `postgres`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from agent_feedback_kit.sessions.record import (
    DEFAULT_TENANT,
    SessionFeedbackRecord,
    checked_tenant,
    format_time,
    parse_time,
)

SCHEMA = """
create table if not exists session_feedback (
    tenant text not null check (tenant ~ '^[A-Za-z0-9._-]{1,64}$'),
    id uuid not null,
    session_id_opaque text not null check (session_id_opaque ~ '^[0-9a-f]{64}$'),
    user_id_or_null text check (length(user_id_or_null) between 1 and 256),
    recorded_at timestamptz not null,
    label text not null check (label in ('positive', 'negative', 'skip')),
    turn_count_at_end integer not null check (turn_count_at_end >= 0),
    source text not null check (source in ('cli_end', 'cli_exit', 'api_end')),
    schema_version integer not null check (schema_version = 1),
    idempotency_key text check (length(idempotency_key) between 1 and 256),
    primary key (tenant, id),
    unique (tenant, idempotency_key)
);
create index if not exists session_feedback_by_session on session_feedback (tenant, session_id_opaque, recorded_at);
create index if not exists session_feedback_by_time on session_feedback (recorded_at);
"""
"""Statement that creates the table if it is missing."""
FIELDS = (
    "id, session_id_opaque, user_id_or_null, recorded_at, label, turn_count_at_end, source, schema_version, "
    "idempotency_key"
)
_KEEP = f"""
insert into session_feedback (tenant, {FIELDS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing
"""
_HELD = f"select {FIELDS} from session_feedback where tenant = $1 and (id = $2 or idempotency_key = $3)"
_COUNT = "select count(*) from session_feedback where tenant = $1"
_LIST = f"""
select {FIELDS} from session_feedback where tenant = $1 and session_id_opaque = $2 order by recorded_at, id
"""
_PURGE = """
with gone as (
    delete from session_feedback where recorded_at < $1 and ($2::text is null or tenant = $2) returning 1
)
select count(*) from gone
"""


class Pool(Protocol):
    """The methods of `asyncpg.Pool` that the backend uses."""

    async def fetch(self, query: str, *args: Any) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: Any) -> Any: ...
    async def fetchval(self, query: str, *args: Any) -> Any: ...
    async def execute(self, query: str, *args: Any) -> Any: ...
    async def close(self) -> None: ...


class PostgresBackend:
    """Backend that stores ratings in the table `session_feedback`.

    Exceptions of asyncpg are not caught.
    """

    name = "postgres"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def acreate(self) -> None:
        """Create the table for ratings if it does not exist."""
        await self._pool.execute(SCHEMA)

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        await self._pool.execute(
            _KEEP,
            checked_tenant(tenant),
            record.id,
            record.session_id_opaque,
            record.user_id_or_null,
            parse_time(record.recorded_at),
            record.label,
            record.turn_count_at_end,
            record.source,
            record.schema_version,
            record.idempotency_key,
        )
        return record_of(await self._pool.fetchrow(_HELD, tenant, record.id, record.idempotency_key))

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        return int(await self._pool.fetchval(_COUNT, tenant))

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        return [record_of(row) for row in await self._pool.fetch(_LIST, tenant, session_id_opaque)]

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        return int(await self._pool.fetchval(_PURGE, moment, tenant))

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._pool.close()


def record_of(row: Any) -> SessionFeedbackRecord:
    """Convert a database row with the columns FIELDS to a record."""
    return SessionFeedbackRecord(
        row["session_id_opaque"],
        row["label"],
        row["turn_count_at_end"],
        row["source"],
        row["user_id_or_null"],
        row["idempotency_key"],
        row["id"],
        format_time(row["recorded_at"]),
        row["schema_version"],
    )
