"""Port of the feedback store. It requires atomicity per record only, so any document store fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from contracts.erasure import ErasedAt, Erasure, Person
from feedback.model import Record
from feedback.registry import TurnKey


@dataclass(frozen=True, slots=True)
class Save:
    """A record to write, if the store still holds the revision it was loaded with (0: not stored)."""

    record: Record
    loaded_revision: int


@dataclass(frozen=True)
class Totals:
    """`stored` counts all feedbacks, `cleared` those of them that show nothing; the rest count live ones.

    `forgotten` counts the stubs, which are in none of the others.
    """

    stored: int = 0
    cleared: int = 0
    forgotten: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_reaction: Counter[str] = field(default_factory=Counter)


def sum_up(groups: Iterable[Mapping[str, Any]]) -> Totals:
    """Totals of counted groups: each with `forgotten`, `live`, `feedback_type`, `reaction` and its number `n`."""
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


class Store(Protocol):
    """Whatever is given back is durable: it will not be undone by the loss of one machine of the store's.

    Every method raises what `servicekit.error_kinds.is_transient` knows where the store is slow or down.
    """

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        """The stored ones of `feedback_ids`, stubs too, in one query."""
        ...

    async def revisions(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """The stored revisions of `feedback_ids`, in one query; those not stored are left out."""
        ...

    async def save(self, saves: Sequence[Save]) -> set[UUID]:
        """Write every record whose stored revision is the loaded one, in one bulk write; at most one save per record.

        Gives the ids that were written; the others lost to somebody else and must be loaded and merged again. One that
        was written and at once overwritten may be given as lost.
        """
        ...

    async def on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        """The machine's verdicts and the reviews on `turns`, cleared ones too, in one query; no stubs."""
        ...

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Every feedback, by feedback id, at most `batch` at a time; stubs are passed over."""
        ...

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Every record of a person, stubs too, by feedback id, at most `batch` at a time."""
        ...

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        """Enter erasures, at most one per person, in the ledger; the latest of each person stays.

        Gives the people of whom an entry was written.
        """
        ...

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure times of those of `people` who are in the ledger."""
        ...

    async def totals(self) -> Totals:
        """Counts over the whole store."""
        ...
