"""Feedback store in PostgreSQL.

Loading a batch, saving it, and checking for changes take one database call each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from contracts.erasure import Erasure, Person, TrainingChoice
from contracts.message_fields import TurnKey
from feedback.model import NO_ENTRY, SLOTS, LedgerEntries, LedgerEntry, Record
from feedback.sql import RECORD, SQL
from feedback.store import NOBODY, RecordChanges, Save, Saved
from servicekit.db.database import Database


class PostgresStore:
    """PostgreSQL implementation of `Store`.

    Needs the table `feedback` on the pool's search path.
    """

    def __init__(self, pool: Database) -> None:
        self.pool = pool

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        rows = await self.pool.fetch(*SQL.load_records(feedback_ids=list(feedback_ids)))
        return {row["feedback_id"]: _record(row) for row in rows}

    async def changes(
        self, revisions: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> RecordChanges:
        records: dict[UUID, Record | None] = {}
        ledger: dict[Person, LedgerEntry] = {}
        on_turns: list[Record] = []
        values = _people(people) | {"known_id": [*revisions], "known_revision": [*revisions.values()]}
        for row in await self.pool.call(self.pool, SQL.find_changes, [*turns], **values):
            if row["entry_user"] is not None:
                entry = LedgerEntry(row["erased_at"], row["entry_allowed"])
                ledger[Person(row["entry_tenant"], row["entry_user"])] = entry
            elif row["known"] is None:
                on_turns.append(_record(row))
            else:
                records[row["known"]] = None if row["feedback_id"] is None else _record(row)
        return RecordChanges(records, ledger, on_turns)

    async def save(
        self, saves: Sequence[Save], people: Collection[Person] = (), ledger: LedgerEntries = NOBODY
    ) -> Saved:
        if not saves and not people:
            return Saved(set())
        rows = [_row(save) for save in sorted(saves, key=lambda save: save.record.feedback_id.int)]
        entries = [ledger.get(person, NO_ENTRY) for person in people]
        values = _people(people) | {
            "known_erased_at": [entry.erased_at for entry in entries],
            "known_allowed": [entry.training_allowed for entry in entries],
        }
        results = await self.pool.call(self.pool, SQL.save_records, rows, **values)
        unknown = {
            Person(row["tenant"], row["user_id"]): LedgerEntry(row["erased_at"], row["training_allowed"])
            for row in results
            if row["feedback_id"] is None
        }
        return Saved({row["feedback_id"] for row in results if row["feedback_id"] is not None}, unknown)

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages(lambda after: SQL.scan_records(after=after, limit=batch))

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages(lambda after: SQL.scan_records_of_person(after=after, limit=batch, **person._asdict()))

    async def _pages(self, statement: Callable[[UUID], Sequence[Any]]) -> AsyncIterator[Sequence[Record]]:
        last = UUID(int=0)
        while rows := await self.pool.fetch(*statement(last)):
            last = rows[-1]["feedback_id"]
            yield [_record(row) for row in rows]

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        return await self.pool.ledger.note(erasures)

    async def note_choices(self, choices: Collection[TrainingChoice]) -> set[Person]:
        return await self.pool.ledger.note_choices(choices)

    async def count(self) -> Counter[str]:
        return Counter({row[0]: row[1] for row in await self.pool.fetch(*SQL.count_records())})


def _people(people: Collection[Person]) -> dict[str, list[Any]]:
    return {"person_tenant": [person.tenant for person in people], "person_id": [person.user_id for person in people]}


def _row(save: Save) -> tuple[Any, ...]:
    record = save.record
    slots = None if record.forgotten else SLOTS.dump_json(dict(record.slots)).decode()
    values = {"feedback_id": record.feedback_id, **record.columns, "slots": slots}
    return (*(values[name] for name in RECORD), save.loaded_revision)


def _record(row: asyncpg.Record) -> Record:
    return Record.of_columns(dict(row), {} if row["slots"] is None else SLOTS.validate_json(row["slots"]))
