"""The feedback store in PostgreSQL: one query to load a batch, one conditional statement to save it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person
from contracts.sources import REVIEW
from feedback.document import shown_columns, slots_from_json, slots_to_json
from feedback.model import Key, Record
from feedback.registry import TurnKey
from feedback.store import Save, Totals, sum_up
from servicekit.db.erasure_ledger import ErasureLedger

_COLUMNS = """feedback_id, tenant, project, conversation_id, source, user_id, agent_id, source_id, feedback_type,
    origin, slots, live, reaction, revision, created_revision, overruled_by"""
_LOAD = f"select {_COLUMNS} from feedback where feedback_id = any($1)"
_SCAN = f"""
select {_COLUMNS} from feedback where feedback_id > $1 and slots is not null order by feedback_id limit $2
"""
_SCAN_PERSON = f"""
select {_COLUMNS} from feedback where tenant = $3 and user_id = $4 and feedback_id > $1 order by feedback_id limit $2
"""
_SAVE = f"""
with wanted as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                         $9::text[], $10::text[], $11::jsonb[], $12::bool[], $13::text[], $14::bigint[], $15::bigint[],
                         $16::uuid[], $17::bigint[]) as w ({_COLUMNS}, loaded_revision)
), updated as (
    update feedback f set slots = w.slots, live = w.live, reaction = w.reaction, revision = w.revision,
        created_revision = w.created_revision, overruled_by = w.overruled_by, origin = w.origin
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
# The turn is in the only slot's payload, which the index `feedback_on_turn` covers.
_ON_TURNS = f"""
select {_COLUMNS} from unnest($1::text[], $2::text[], $3::text[], $4::text[])
    as t (of_tenant, of_project, of_conversation, of_turn)
join feedback on conversation_id = of_conversation and slots -> '' -> 'payload' ->> 'turn_id' = of_turn
    and tenant = of_tenant and project = of_project and source in ('inference', '{REVIEW}')
"""
_TOTALS = """
select slots is null as forgotten, live, feedback_type, reaction, count(*) as n from feedback
group by slots is null, live, feedback_type, reaction
"""


class PostgresStore:
    """See `store.Store`. Needs the table `feedback` on the pool's search path."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self._ledger = ErasureLedger(pool)

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        rows = await self.pool.fetch(_LOAD, list(feedback_ids))
        return {row["feedback_id"]: _record(row) for row in rows}

    async def revisions(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, int]:
        rows = await self.pool.fetch(
            "select feedback_id, revision from feedback where feedback_id = any($1)", list(feedback_ids)
        )
        return {row["feedback_id"]: row["revision"] for row in rows}

    async def save(self, saves: Sequence[Save]) -> set[UUID]:
        if not saves:
            return set()
        rows = [_row(save) for save in sorted(saves, key=lambda save: save.record.feedback_id.int)]
        written = await self.pool.fetch(_SAVE, *(list(column) for column in zip(*rows, strict=True)))
        return {row["feedback_id"] for row in written}

    async def on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        columns = zip(*turns, strict=True) if turns else ([], [], [], [])
        return [_record(row) for row in await self.pool.fetch(_ON_TURNS, *map(list, columns))]

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages(_SCAN, batch)

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages(_SCAN_PERSON, batch, *person)

    async def _pages(self, query: str, batch: int, *arguments: str) -> AsyncIterator[Sequence[Record]]:
        last = UUID(int=0)
        while rows := await self.pool.fetch(query, last, batch, *arguments):
            last = rows[-1]["feedback_id"]
            yield [_record(row) for row in rows]

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        return await self._ledger.note(erasures)

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        return await self._ledger.erased_at(people)

    async def totals(self) -> Totals:
        return sum_up([dict(row) for row in await self.pool.fetch(_TOTALS)])


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
        record.overruled_by,
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
        overruled_by=row["overruled_by"],
    )
