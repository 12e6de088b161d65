"""What the feedback service needs of a store. Only per-record atomicity is promised, so any document store fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from feedback.model import Record


@dataclass(frozen=True, slots=True)
class Save:
    """A record to write, if the store still holds the revision it was loaded with (0: not stored)."""

    record: Record
    loaded_revision: int


@dataclass(frozen=True)
class Totals:
    """`stored` counts all records, `cleared` those of them that show nothing; the rest count live ones."""

    stored: int = 0
    cleared: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_reaction: Counter[str] = field(default_factory=Counter)


class Store(Protocol):
    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        """The stored ones of `feedback_ids`, in one query."""
        ...

    async def save(self, saves: Sequence[Save]) -> set[UUID]:
        """Write every record whose stored revision is the loaded one, in one bulk write; at most one save per record.

        Gives the ids that were written; the others lost to somebody else and must be loaded and merged again.
        """
        ...

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Every record, by feedback id, at most `batch` at a time."""
        ...

    async def totals(self) -> Totals:
        """Counts over the whole store."""
        ...

    async def ping(self) -> None:
        """Raise if the store does not answer."""
        ...
