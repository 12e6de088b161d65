"""The read models in PostgreSQL: one statement per table and batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import asyncpg

from reporting.database import Connection
from reporting.projection import FeedbackRow, Forgotten, MessageKey, MessageRow
from reporting.store import Applied

_SEPARATOR: Final = "\x1f"  # no label holds a control character; unnest would flatten arrays of arrays

_UUID, _BIGINT, _FLOAT = "uuid", "bigint", "double precision"
_TYPES: Final = {
    "feedback_id": _UUID,
    "slot": _UUID,
    "revision": _BIGINT,
    "recorded_at": _BIGINT,
    "occurred_at": _BIGINT,
    "sequence": _BIGINT,
    "value": _FLOAT,
    "confidence": _FLOAT,
}
FEEDBACK_COLUMNS: Final = FeedbackRow._fields
MESSAGE_COLUMNS: Final = MessageRow._fields


def _arrays(columns: Sequence[str]) -> str:
    return ", ".join(f"${at}::{_TYPES.get(name, 'text')}[]" for at, name in enumerate(columns, 1))


def _selected(columns: Sequence[str]) -> str:
    return ", ".join("string_to_array(tags, E'\\x1f')" if name == "tags" else name for name in columns)


def _replaced(columns: Sequence[str]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns)


_LOCK_FEEDBACKS: Final = f"""
select {", ".join(FEEDBACK_COLUMNS)} from feedbacks where feedback_id = any($1::uuid[]) order by feedback_id for update
"""
_WRITE_FEEDBACKS: Final = f"""
insert into feedbacks as held ({", ".join(FEEDBACK_COLUMNS)})
select {_selected(FEEDBACK_COLUMNS)} from unnest({_arrays(FEEDBACK_COLUMNS)}) as new ({", ".join(FEEDBACK_COLUMNS)})
where not exists (select from forgotten f where f.feedback_id = new.feedback_id and f.revision >= new.revision)
on conflict (feedback_id) do update
set {_replaced(FEEDBACK_COLUMNS[1:])}, written_by = pg_current_xact_id()
where held.revision < excluded.revision
"""
_WRITE_MESSAGES: Final = f"""
insert into messages as held ({", ".join(MESSAGE_COLUMNS)})
select * from unnest({_arrays(MESSAGE_COLUMNS)})
on conflict (tenant, project, message_id) do update
set {_replaced(MESSAGE_COLUMNS[3:])}
where (held.occurred_at, held.sequence) < (excluded.occurred_at, excluded.sequence)
returning tenant, project, message_id
"""
_FORGET: Final = """
with gone as (
    select feedback_id, max(revision) as revision from unnest($1::uuid[], $2::bigint[]) as g (feedback_id, revision)
    group by feedback_id
), noted as (
    insert into forgotten as f select * from gone order by feedback_id
    on conflict (feedback_id) do update set revision = greatest(f.revision, excluded.revision)
)
delete from feedbacks held using gone where held.feedback_id = gone.feedback_id and held.revision <= gone.revision
"""
_ADOPT: Final = """
update feedbacks set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot())
"""


class PostgresStore:
    """The read models on a pool whose connections live in the service's schema."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def adopt(self) -> None:
        """Make rows ours that came from another server's dump: its transaction ids may lie in our future."""
        await self._pool.execute(_ADOPT)

    async def apply(self, messages: Sequence[MessageRow], feedbacks: Sequence[FeedbackRow]) -> Applied:
        async with self._pool.acquire() as connection, connection.transaction():
            written = await self._write_messages(connection, messages) if messages else set()
            before = await self._write_feedbacks(connection, feedbacks) if feedbacks else {}
        return Applied(before, written)

    async def forget(self, forgotten: Sequence[Forgotten]) -> None:
        await self._pool.execute(_FORGET, *zip(*forgotten, strict=True))

    async def probe(self) -> None:
        await self._pool.execute("select 1", timeout=2)

    async def _write_messages(self, connection: Connection, rows: Sequence[MessageRow]) -> set[MessageKey]:
        written = await connection.fetch(_WRITE_MESSAGES, *zip(*rows, strict=True))
        return {(row[0], row[1], row[2]) for row in written}

    async def _write_feedbacks(self, connection: Connection, rows: Sequence[FeedbackRow]) -> dict[UUID, FeedbackRow]:
        held = await connection.fetch(_LOCK_FEEDBACKS, [row.feedback_id for row in rows])
        columns = list(zip(*rows, strict=True))
        tags = FEEDBACK_COLUMNS.index("tags")
        columns[tags] = tuple(_SEPARATOR.join(row.tags) for row in rows)
        await connection.execute(_WRITE_FEEDBACKS, *columns)
        return {row["feedback_id"]: FeedbackRow(*row.values())._replace(tags=tuple(row["tags"])) for row in held}
