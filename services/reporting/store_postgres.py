"""Storage of the read models in PostgreSQL, with one statement per table and batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args, get_type_hints
from uuid import UUID

import asyncpg

from reporting.database import Connection
from reporting.projection import FeedbackRow, Forgotten, MessageKey, MessageRow, SessionRow
from reporting.store import Applied

_SEPARATOR: Final = "\x1f"  # labels have no control characters; unnest would flatten arrays of arrays

_ADOPT_SECONDS: Final = 3_600.0

_TYPES: Final = {UUID: "uuid", int: "bigint", float: "double precision", bytes: "bytea"}
FEEDBACK_COLUMNS: Final = FeedbackRow._fields
MESSAGE_COLUMNS: Final = MessageRow._fields


def _column_types(row: type[FeedbackRow | MessageRow]) -> dict[str, str]:
    """Return the SQL type of each column, derived from the row's type hints; text by default."""
    hints = get_type_hints(row).items()
    return {
        name: next((_TYPES[one] for one in (hint, *get_args(hint)) if one in _TYPES), "text") for name, hint in hints
    }


def _arrays(row: type[FeedbackRow | MessageRow]) -> str:
    return ", ".join(f"${at}::{kind}[]" for at, kind in enumerate(_column_types(row).values(), 1))


def _selected(columns: Sequence[str]) -> str:
    return ", ".join("string_to_array(tags, E'\\x1f')" if name == "tags" else name for name in columns)


def _replaced(columns: Sequence[str]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns)


FeedbackTable = Literal["feedbacks", "replies"]
FEEDBACK_TABLES: Final[tuple[FeedbackTable, ...]] = get_args(FeedbackTable)
IS_LIVE: Final[dict[FeedbackTable, str]] = {"feedbacks": "reaction is not null", "replies": "value is not null"}
"""SQL condition of records that are not cleared, by table; each has an index of those rows."""
_LOCK_FEEDBACKS: Final = f"""
select {", ".join(FEEDBACK_COLUMNS)} from {{}} where feedback_id = any($1::uuid[]) order by feedback_id for update
"""
GIVEN_FEEDBACKS: Final = f"""
select {_selected(FEEDBACK_COLUMNS)} from unnest({_arrays(FeedbackRow)}) as new ({", ".join(FEEDBACK_COLUMNS)})
"""
"""Select of the rows that are passed as the parameters from `given_feedbacks`."""
REPLACED_FEEDBACK: Final = f"{_replaced(FEEDBACK_COLUMNS[1:])}, written_by = pg_current_xact_id()"
_WRITE_FEEDBACKS: Final = f"""
insert into {{}} as held ({", ".join(FEEDBACK_COLUMNS)})
{GIVEN_FEEDBACKS}
where not exists (select from forgotten f where f.feedback_id = new.feedback_id and f.revision >= new.revision)
on conflict (feedback_id) do update
set {REPLACED_FEEDBACK}
where held.revision < excluded.revision
"""
_LATER: Final = "excluded.version > held.version"
_EARLIER: Final = "(excluded.occurred_at, excluded.sequence) < (held.occurred_at, held.sequence)"


def _chosen(columns: Sequence[str], when: str) -> str:
    return ", ".join(f"{name} = case when {when} then excluded.{name} else held.{name} end" for name in columns)


_WRITE_MESSAGES: Final = f"""
insert into messages as held ({", ".join(MESSAGE_COLUMNS)})
select * from unnest({_arrays(MessageRow)})
on conflict (tenant, project, conversation_id, message_id) do update
set {_chosen(MESSAGE_COLUMNS[4:-2], _LATER)}, {_chosen(MESSAGE_COLUMNS[-2:], _EARLIER)}
where {_LATER} or {_EARLIER}
returning tenant, project, conversation_id, message_id
"""
_FORGET: Final = """
with gone as (
    select feedback_id, max(revision) as revision from unnest($1::uuid[], $2::bigint[]) as g (feedback_id, revision)
    group by feedback_id
), noted as (
    insert into forgotten as f (feedback_id, revision) select * from gone order by feedback_id
    on conflict (feedback_id) do update
    set revision = greatest(f.revision, excluded.revision), written_by = pg_current_xact_id()
), replied as (
    delete from replies held using gone where held.feedback_id = gone.feedback_id and held.revision <= gone.revision
)
delete from feedbacks held using gone where held.feedback_id = gone.feedback_id and held.revision <= gone.revision
"""
_RATE: Final = """
insert into sessions (tenant, id, recorded_at, label, turns)
select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::text[], $5::integer[])
on conflict do nothing returning id
"""
_SAME_SERVER: Final = """
select system_identifier = (select system_identifier from pg_control_system()) from database_server
"""
_ADOPT: Final = (
    *(
        f"update {table} set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot())"
        for table in (*FEEDBACK_TABLES, "forgotten", "stale_hours")
    ),
    "delete from database_server",
    "insert into database_server select system_identifier from pg_control_system()",
)


class PostgresReadModels:
    """Read models' storage on a pool whose connections use the service's schema."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def adopt(self) -> None:
        """Mark rows from another server's dump as written long ago, because its transaction ids may exceed ours.

        Reads one row, except on the first start on another server.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute("lock table database_server in exclusive mode")
            if await connection.fetchval(_SAME_SERVER):
                return
            for statement in _ADOPT:
                await connection.execute(statement, timeout=_ADOPT_SECONDS)

    async def apply(self, messages: Sequence[MessageRow], feedbacks: Sequence[FeedbackRow]) -> Applied:
        if not feedbacks:  # one statement, so it needs no transaction around it
            async with self._pool.acquire() as connection:
                return Applied({}, await self._write_messages(connection, messages))
        async with self._pool.acquire() as connection, connection.transaction():
            written = await self._write_messages(connection, messages)
            before: dict[UUID, FeedbackRow] = {}
            for table, rows in by_table(feedbacks).items():
                before |= await self._write_feedbacks(connection, table, rows)
        return Applied(before, written)

    async def forget(self, forgotten: Sequence[Forgotten]) -> None:
        await self._pool.execute(_FORGET, *zip(*forgotten, strict=True))

    async def rate(self, sessions: Sequence[SessionRow]) -> set[UUID]:
        return {row["id"] for row in await self._pool.fetch(_RATE, *zip(*sorted(set(sessions)), strict=True))}

    async def _write_messages(self, connection: Connection, rows: Sequence[MessageRow]) -> set[MessageKey]:
        if not rows:
            return set()
        written = await connection.fetch(_WRITE_MESSAGES, *zip(*rows, strict=True))
        return {(row[0], row[1], row[2], row[3]) for row in written}

    async def _write_feedbacks(
        self, connection: Connection, table: FeedbackTable, rows: Sequence[FeedbackRow]
    ) -> dict[UUID, FeedbackRow]:
        held = await connection.fetch(_LOCK_FEEDBACKS.format(table), [row.feedback_id for row in rows])
        await connection.execute(_WRITE_FEEDBACKS.format(table), *given_feedbacks(rows))
        return {row["feedback_id"]: FeedbackRow(*row.values())._replace(tags=tuple(row["tags"])) for row in held}


def by_table(rows: Sequence[FeedbackRow]) -> dict[FeedbackTable, list[FeedbackRow]]:
    """Return the rows of each table that has any, in the tables' order."""
    found: dict[FeedbackTable, list[FeedbackRow]] = {
        "feedbacks": [row for row in rows if not row.is_reply],
        "replies": [row for row in rows if row.is_reply],
    }
    return {table: some for table, some in found.items() if some}


def given_feedbacks(rows: Sequence[FeedbackRow]) -> list[Sequence[object]]:
    """Return the rows as parameters of GIVEN_FEEDBACKS, one array per column."""
    columns: list[Sequence[object]] = list(zip(*rows, strict=True))
    columns[FEEDBACK_COLUMNS.index("tags")] = tuple(_SEPARATOR.join(row.tags) for row in rows)
    return columns
