"""Interface of the feedback store.

Writes are atomic only per record, so any document store can implement it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from contracts.erasure import Erasure, Person, TrainingChoice
from contracts.message_fields import TurnKey
from feedback.model import LedgerEntries, Record


@dataclass(frozen=True, slots=True)
class Save:
    """A record to write, unless another process has changed it since it was loaded.

    `loaded_revision` is the revision that was loaded, or 0 if the record was not stored.
    """

    record: Record
    loaded_revision: int


NOBODY: Final[LedgerEntries] = MappingProxyType({})


class Saved(NamedTuple):
    """Result of `Store.save`.

    Attributes:
        ids: Ids of the written records.
        unknown: Entries of the erasure ledger that were missing in the caller's `ledger`. The caller must load and
            merge all records of these people again, even those that were not written.
    """

    ids: set[UUID]
    unknown: LedgerEntries = NOBODY


class RecordChanges(NamedTuple):
    """Result of `Store.changes`.

    Attributes:
        records: The changed records by id. None stands for a record that is no longer stored.
        ledger: The entries of the given people in the erasure ledger.
        on_turns: Machine verdicts and reviews, without erased ones, on the given turns and on the turns of the given
            records that are verdicts.
    """

    records: Mapping[UUID, Record | None]
    ledger: LedgerEntries
    on_turns: Sequence[Record]


class Store(Protocol):
    """Store of feedback records.

    Reads return only data that would survive the loss of one machine. If the store is slow or down, every method raises
    an error for which `servicekit.error_kinds.is_transient` returns True.
    """

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        """Return the stored records with these ids, including erased records, by id.

        Takes one query.
        """
        ...

    async def changes(
        self, revisions: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> RecordChanges:
        """Return the records of `revisions` whose stored revision is not the known one, including erased records.

        Args:
            revisions: The known revisions by feedback id. 0 means that the record was not stored.
            people: People whose entries in the erasure ledger are also returned. These are read after the records.
            turns: Turns whose verdicts and reviews are also returned. The turns of the given records that are verdicts
                are always included.
        """
        ...

    async def save(
        self, saves: Sequence[Save], people: Collection[Person] = (), ledger: LedgerEntries = NOBODY
    ) -> Saved:
        """Write all records whose stored revision still equals the loaded one, in one bulk write.

        Records that another process has changed are not written; the caller must load and merge them again. A record
        that is overwritten immediately after the write may be reported as not written. Ledger entries that are
        committed after the write also cover the written records.

        Args:
            saves: Each record at most once.
            people: People whose stored entries are compared with `ledger`.
            ledger: The entries of `people` that the caller has applied to the records. If the stored entries differ,
                they are returned, and possibly nothing is written.
        """
        ...

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield all records except erased ones, sorted by feedback id, in batches of at most `batch`."""
        ...

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        """Yield all records of a person, even erased ones, sorted by feedback id, in batches of at most `batch`."""
        ...

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures to the ledger, which keeps the latest erasure of each person.

        Args:
            erasures: At most one per person.

        Returns:
            The people whose ledger entry changed.
        """
        ...

    async def note_choices(self, choices: Collection[TrainingChoice]) -> set[Person]:
        """Write choices about training to the ledger, which keeps the latest choice of each person.

        Args:
            choices: At most one per person.

        Returns:
            The people whose ledger entry changed.
        """
        ...

    async def count(self) -> Counter[str]:
        """Return the number of records by feedback type, without erased ones."""
        ...
