"""The feedback store in PostgreSQL: one query to load a batch, one guarded statement to write it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from feedback.document import shown_columns, slots_from_json, slots_to_json
from feedback.model import Key, Record
from feedback.store import Save, Totals

_COLUMNS = """feedback_id, tenant, project, conversation_id, source, user_id, agent_id, source_id, feedback_type,
    origin, slots, live, reaction, revision, created_revision"""
_LOAD = f"select {_COLUMNS} from feedback where feedback_id = any($1)"
_SCAN = f"select {_COLUMNS} from feedback where feedback_id > $1 order by feedback_id limit $2"
_SAVE = f"""
with wanted as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                         $9::text[], $10::text[], $11::jsonb[], $12::bool[], $13::text[], $14::bigint[], $15::bigint[],
                         $16::bigint[]) as w ({_COLUMNS}, loaded_revision)
), updated as (
    update feedback f set slots = w.slots, live = w.live, reaction = w.reaction, revision = w.revision
    from wanted w where f.feedback_id = w.feedback_id and f.revision = w.loaded_revision and w.loaded_revision > 0
    returning f.feedback_id
), inserted as (
    insert into feedback ({_COLUMNS})
    select {_COLUMNS} from wanted where loaded_revision = 0 order by feedback_id
    on conflict do nothing
    returning feedback_id
)
select feedback_id from updated union all select feedback_id from inserted
"""
_TOTALS = "select live, feedback_type, reaction, count(*) as n from feedback group by live, feedback_type, reaction"


class PostgresStore:
    """See `store.Store`. The pool's connections see the table `feedback`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        rows = await self._pool.fetch(_LOAD, list(feedback_ids))
        return {row["feedback_id"]: _record(row) for row in rows}

    async def save(self, saves: Sequence[Save]) -> set[UUID]:
        if not saves:
            return set()
        rows = [_row(save) for save in sorted(saves, key=lambda save: save.record.feedback_id)]
        written = await self._pool.fetch(_SAVE, *(list(column) for column in zip(*rows, strict=True)))
        return {row["feedback_id"] for row in written}

    async def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        last = UUID(int=0)
        while rows := await self._pool.fetch(_SCAN, last, batch):
            last = rows[-1]["feedback_id"]
            yield [_record(row) for row in rows]

    async def totals(self) -> Totals:
        stored = cleared = 0
        totals = Totals()
        for row in await self._pool.fetch(_TOTALS):
            stored += row["n"]
            if not row["live"]:
                cleared += row["n"]
                continue
            totals.by_type[row["feedback_type"]] += row["n"]
            if row["reaction"] is not None:
                totals.by_reaction[row["reaction"]] += row["n"]
        return Totals(stored, cleared, totals.by_type, totals.by_reaction)

    async def ping(self) -> None:
        await self._pool.execute("select 1")


def _row(save: Save) -> tuple[Any, ...]:
    record = save.record
    shown = shown_columns(record)
    return (
        record.feedback_id,
        *record.key,
        record.feedback_type,
        record.origin,
        slots_to_json(record),
        shown["live"],
        shown["reaction"],
        record.revision,
        record.created_revision,
        save.loaded_revision,
    )


def _record(row: asyncpg.Record) -> Record:
    return Record(
        key=Key(*(row[name] for name in Key._fields)),
        feedback_type=row["feedback_type"],
        origin=row["origin"],
        slots=slots_from_json(row["slots"]),
        revision=row["revision"],
        created_revision=row["created_revision"],
    )
