"""A store that lives and dies with the process: for tests, simulations and a first look."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from uuid import UUID

from feedback.model import Record
from feedback.store import Save, Totals


class MemoryStore:
    """See `store.Store`."""

    def __init__(self) -> None:
        self._records: dict[UUID, Record] = {}

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        return {id_: self._records[id_] for id_ in feedback_ids if id_ in self._records}

    async def save(self, saves: Sequence[Save]) -> set[UUID]:
        written = set()
        for save in saves:
            held = self._records.get(save.record.feedback_id)
            if (held.revision if held else 0) == save.loaded_revision:
                self._records[save.record.feedback_id] = save.record
                written.add(save.record.feedback_id)
        return written

    async def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        ids = sorted(self._records)
        for start in range(0, len(ids), batch):
            yield [self._records[id_] for id_ in ids[start : start + batch] if id_ in self._records]

    async def totals(self) -> Totals:
        totals = Totals(stored=len(self._records), cleared=sum(r.cleared for r in self._records.values()))
        for record in self._records.values():
            if not record.cleared:
                totals.by_type[record.feedback_type] += 1
                if record.shown.payload.reaction:
                    totals.by_reaction[record.shown.payload.reaction] += 1
        return totals

    async def ping(self) -> None:
        return None
