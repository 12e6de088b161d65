"""Port of the feedback store. It requires atomicity per record only, so any document store fits."""

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
    """Record to write, if the stored revision is still `loaded_revision` (0: not stored)."""

    record: Record
    loaded_revision: int


NOBODY: Final[ErasedAt] = MappingProxyType({})


class Saved(NamedTuple):
    """Ids of the written records, and erasures that the caller of `save` did not know.

    The records of these people must be loaded and merged again, written or not.
    """

    ids: set[UUID]
    erased: ErasedAt = NOBODY


class Changes(NamedTuple):
    """Records whose revision differs from the caller's (None: no longer stored), erasures, and reviews of turns."""

    records: Mapping[UUID, Record | None]
    erased: ErasedAt
    reviews: Sequence[Record]

    @property
    def stored(self) -> dict[UUID, Record]:
        return {id_: record for id_, record in self.records.items() if record is not None}


@dataclass(frozen=True)
class Totals:
    """Counts of a store. `stored` counts all records and `cleared` those that are not live; the rest count live ones.

    `forgotten` counts the stubs, which the other counts exclude.
    """

    stored: int = 0
    cleared: int = 0
    forgotten: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_reaction: Counter[str] = field(default_factory=Counter)


def sum_up(groups: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the totals of groups, each with `forgotten`, `live`, `feedback_type`, `reaction` and its count `n`."""
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
    """Store of feedback records. A read returns only durable data, which the loss of one machine cannot undo.

    Every method raises an error for which `servicekit.error_kinds.is_transient` is True if the store is slow or down.
    """

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        """Return the stored records of `feedback_ids`, stubs included, in one query."""
        ...

    async def changes(
        self, known: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> Changes:
        """Return the records whose stored revision differs from the `known` one (0: not stored), stubs included.

        Also returns the ledger's entries of `people`, read after the records, and the reviews of `turns`, without
        stubs.
        """
        ...

    async def save(self, saves: Sequence[Save], people: Collection[Person] = (), ledger: ErasedAt = NOBODY) -> Saved:
        """Write every record whose stored revision is the loaded one, in one bulk write; at most one save per record.

        The others lost a race and must be loaded and merged again. A record that was written and immediately
        overwritten may count as lost. `ledger` has the erasures of `people` as the records were merged. If the stored
        ones differ, a store may write nothing. An erasure that is missing in the result finds the written records.
        """
        ...

    async def on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        """Return the machine's verdicts and the reviews on `turns`, cleared ones included, in one query; no stubs."""
        ...

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield every record except stubs, by feedback id, at most `batch` at a time."""
        ...

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield every record of a person, stubs included, by feedback id, at most `batch` at a time."""
        ...

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures, at most one per person, to the ledger; the latest of each person counts.

        Returns the people whose entry changed.
        """
        ...

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the times of erasure of the `people` in the ledger."""
        ...

    async def totals(self) -> Totals:
        """Return the counts of the whole store."""
        ...
