"""In-memory feedback store for tests and simulations."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from uuid import UUID

from contracts.erasure import Erasure, Person, TrainingChoice, latest
from contracts.message_fields import TurnKey
from contracts.sources import REVIEW
from feedback.model import LedgerEntries, LedgerEntry, Record, unknown_entries
from feedback.store import NOBODY, RecordChanges, Save, Saved


class MemoryStore:
    """In-memory implementation of `Store`."""

    def __init__(self) -> None:
        self._records: dict[UUID, Record] = {}
        self._erasures: dict[Person, Erasure] = {}
        self._choices: dict[Person, TrainingChoice] = {}

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        return {id_: self._records[id_] for id_ in feedback_ids if id_ in self._records}

    async def changes(
        self, known: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> RecordChanges:
        stored = {id_: self._records.get(id_) for id_ in known}
        changed = {id_: one for id_, one in stored.items() if (one.revision if one else 0) != known[id_]}
        verdicts = [record for record in stored.values() if record is not None and record.is_verdict]
        return RecordChanges(
            changed, self._entries(people), self._on_turns({*turns, *(record.turn for record in verdicts)})
        )

    async def save(
        self, saves: Sequence[Save], people: Collection[Person] = (), ledger: LedgerEntries = NOBODY
    ) -> Saved:
        if unknown := unknown_entries(self._entries(people), ledger):
            return Saved(set(), unknown)
        written = set()
        for save in saves:
            held = self._records.get(save.record.feedback_id)
            if (held.revision if held else 0) == save.loaded_revision:
                self._records[save.record.feedback_id] = save.record
                written.add(save.record.feedback_id)
        return Saved(written)

    def _on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        return [
            record
            for record in self._records.values()
            if not record.forgotten and (record.is_verdict or record.key.source == REVIEW) and record.turn in turns
        ]

    async def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        ids = sorted(id_ for id_, record in self._records.items() if not record.forgotten)
        for start in range(0, len(ids), batch):
            records = (self._records[id_] for id_ in ids[start : start + batch])
            yield [record for record in records if not record.forgotten]

    async def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        ids = sorted(id_ for id_, record in self._records.items() if record.key.person == person)
        for start in range(0, len(ids), batch):
            yield [self._records[id_] for id_ in ids[start : start + batch]]

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        before = self._erasures
        self._erasures = latest([*before.values(), *erasures])
        return {person for person, erasure in self._erasures.items() if before.get(person) != erasure}

    async def note_choices(self, choices: Collection[TrainingChoice]) -> set[Person]:
        later = {one.person: one for one in choices if one > self._choices.get(one.person, (one.person, -1))}
        self._choices |= later
        return {*later}

    def _entries(self, people: Collection[Person]) -> LedgerEntries:
        return {
            person: LedgerEntry(
                self._erasures[person].erased_at if person in self._erasures else None,
                self._choices[person].training_allowed if person in self._choices else True,
            )
            for person in people
            if person in self._erasures or person in self._choices
        }

    async def count(self) -> Counter[str]:
        return Counter(record.feedback_type for record in self._records.values() if not record.forgotten)
