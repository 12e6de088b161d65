"""Interface of the feedback store. It requires atomicity only per record, so any document store can implement it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from contracts.erasure import ErasedAt, Erasure, Person
from feedback.model import Record
from feedback.registry import TurnKey


@dataclass(frozen=True, slots=True)
class Save:
    """Record to write if the stored revision is still `loaded_revision` (0 if it was not stored)."""

    record: Record
    loaded_revision: int


NOBODY: Final[ErasedAt] = MappingProxyType({})


class Saved(NamedTuple):
    """Result of `Store.save`: ids of the written records, and erasures that its caller did not know.

    The caller must load and merge all records of the erased people again, even those that were not written.
    """

    ids: set[UUID]
    erased: ErasedAt = NOBODY


class Changes(NamedTuple):
    """Result of `Store.changes`: changed records (None: no longer stored), erasures and reviews."""

    records: Mapping[UUID, Record | None]
    erased: ErasedAt
    reviews: Sequence[Record]

    @property
    def stored(self) -> dict[UUID, Record]:
        return {id_: record for id_, record in self.records.items() if record is not None}


@dataclass(frozen=True)
class Totals:
    """Counts of the records in a store. `stored` counts all records, `cleared` those that are not live.

    `by_type` and `by_reaction` count live records. `forgotten` counts stubs, which the other counts exclude.
    """

    stored: int = 0
    cleared: int = 0
    forgotten: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_reaction: Counter[str] = field(default_factory=Counter)


def sum_up(groups: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the totals of groups with the keys `forgotten`, `live`, `feedback_type`, `reaction` and `n` (count)."""
    stored = cleared = forgotten = 0
    totals = Totals()
    for group in groups:
        n = group["n"]
        if group["forgotten"]:
            forgotten += n
            continue
        stored += n
        if not group["live"]:
            cleared += n
            continue
        totals.by_type[group["feedback_type"]] += n
        if group["reaction"] is not None:
            totals.by_reaction[group["reaction"]] += n
    return replace(totals, stored=stored, cleared=cleared, forgotten=forgotten)


def unknown_erasures(stored: ErasedAt, known: ErasedAt) -> ErasedAt:
    """Return the stored erasures that differ from the known ones."""
    return {person: at for person, at in stored.items() if known.get(person) != at}


class Store(Protocol):
    """Store of feedback records. Reads return only data that survives the loss of one machine.

    If the store is slow or down, every method raises an error for which `servicekit.error_kinds.is_transient` is True.
    """

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        """Return the stored records with these ids, including stubs, by id. Takes one query."""
        ...

    async def changes(
        self, known: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> Changes:
        """Return the records with a stored revision other than the `known` one (0: not stored), including stubs.

        The result also has the ledger entries of `people`, read after the records, and the reviews of `turns` except
        stubs.
        """
        ...

    async def save(self, saves: Sequence[Save], people: Collection[Person] = (), ledger: ErasedAt = NOBODY) -> Saved:
        """Write, in one bulk write, all records with a stored revision that equals the loaded one.

        There is at most one save per record. Records that were not written have lost a race, and must be loaded and
        merged again. A record that was written and at once overwritten may count as not written. `ledger` has the
        erasures of `people` with which the records were merged. If the stored erasures differ, the result contains
        them, and the store may have written nothing. Any other erasure is committed after this write, and then finds
        the written records.
        """
        ...

    async def on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        """Return the machine's verdicts and the reviews on `turns`, including cleared ones, without stubs.

        Takes one query.
        """
        ...

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield all records without stubs, sorted by feedback id, in batches of at most `batch`."""
        ...

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield all records of a person, including stubs, sorted by feedback id, in batches of at most `batch`."""
        ...

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures, at most one per person, to the ledger. The latest erasure of a person is kept.

        Returns the people with a changed entry.
        """
        ...

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the time of each person's erasure in microseconds, for the people in the ledger."""
        ...

    async def totals(self) -> Totals:
        """Return the counts of the whole store."""
        ...
