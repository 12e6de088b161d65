"""Merge changes and erasures into stored records, and announce the records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from contracts.erasure import ErasedAt, Person, is_erased
from contracts.headers import Headers
from feedback.announce import message_of, tombstone_of
from feedback.erasure import forget
from feedback.merge import UNMAPPED, applies, merge, outcome_of, revise
from feedback.model import Change, Key, Record
from feedback.overrule import ReviewOfTurn, overrule, review_over, reviews_that_count
from feedback.registry import TurnKey
from feedback.store import Save, Saved, Store, unknown_erasures
from servicekit import Message, Outcome, Producer

ERASED = Outcome.ignored("erased")
"""Outcome of a change that the erasure of its author covers."""


@dataclass(frozen=True, slots=True)
class BatchChange:
    """Change with its index in the batch. Times are in microseconds.

    `log_time` is the minimum of the record's next revision. `first_log_time` decides if an erasure covers the change;
    for a replayed dead letter, it is the log time of the original record.
    """

    index: int
    change: Change
    log_time: int
    first_log_time: int


@dataclass(frozen=True, slots=True)
class PendingUpdate:
    """Changes of one feedback record in a batch. Without changes, the record is only announced again.

    The next revision is at least `log_time`, which is in microseconds.
    """

    key: Key
    changes: tuple[BatchChange, ...] = ()
    headers: Headers = ()
    log_time: int = 0


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """Stored state of a record after a write (None: there is no record), and the outcomes of its changes by index."""

    record: Record | None
    outcomes: Mapping[int, Outcome]


class AnnouncedRecords(NamedTuple):
    """Result of an announcement: written records by id, True if any of them changed, and the overtaken updates.

    An update is overtaken if another process has changed its record in the meantime. The log may then contain the older
    announcement after the newer one, so the record must be announced again. Two processes write the same record only if
    its events are on two partitions, because of foreign producers or added partitions.
    """

    written: Mapping[UUID, WrittenRecord]
    changed: bool
    overtaken: Mapping[UUID, PendingUpdate]


class FeedbackWriter:
    """Writes pending updates, and announces the stored state of each record, even if it is unchanged.

    A crash at any point is harmless, because the announcement is then published again with the same event id.

    An erasure is written to the ledger before its records are read. Every write checks the ledger, and every writer
    reads it again after each announcement. If an erasure and a batch race, at least one of them therefore sees the
    other. The last announcement of an erased record is its tombstone. Reviews and the verdicts that they overrule are
    kept consistent in the same way: each writer looks for the other after it has committed its own write.
    """

    def __init__(self, store: Store, producer: Producer) -> None:
        self._store = store
        self._producer = producer

    async def write_and_announce(self, updates: Mapping[UUID, PendingUpdate]) -> AnnouncedRecords:
        """Write and announce the updates. The result includes the updates that another process has overtaken."""
        written: dict[UUID, WrittenRecord] = {}
        changed, overtaken = False, set[UUID]()
        people = {update.key.person for update in updates.values()}
        open_ids = {*updates}
        ledger: ErasedAt = {}
        while open_ids:
            to_announce: set[UUID] = set()
            while open_ids:
                to_announce |= open_ids
                merged, before = open_ids, ledger
                open_ids, saved, ledger = await self._write({id_: updates[id_] for id_ in open_ids}, people, written)
                open_ids |= _erased_since(before, ledger, updates) - merged
                changed = changed or saved
            await self._producer.send(
                [
                    _announcement(updates[id_], written[id_].record, ledger.get(updates[id_].key.person))
                    for id_ in sorted(to_announce, key=_number)
                ],
            )
            known = {id_: _revision(one) for id_, one in written.items()}
            turns = _turns_of_verdicts(one.record for one in written.values())
            found = await self._store.changes(known, people, turns)
            open_ids = _erased_since(ledger, found.erased, updates) | _reviewed_since(written, found.reviews)
            ledger, overtaken = found.erased, {*found.records}
        return AnnouncedRecords(written, changed, {id_: updates[id_] for id_ in overtaken})

    async def announce_until_current(self, updates: Mapping[UUID, PendingUpdate]) -> bool:
        """Announce records that other processes may be writing, until the last announcement has the stored state.

        The changes of the updates are skipped, because they are already stored; erasures are applied. Return True if
        any record changed.
        """
        changed = False
        while updates:
            updates = {id_: replace(update, changes=()) for id_, update in updates.items()}
            _, saved, updates = await self.write_and_announce(updates)
            changed = changed or saved
        return changed

    async def _write(
        self, updates: Mapping[UUID, PendingUpdate], people: Collection[Person], written: dict[UUID, WrittenRecord]
    ) -> tuple[set[UUID], bool, ErasedAt]:
        """Try once to merge and write the updates, and add the results to `written`.

        Returns the ids to try again, True if any record changed, and the ledger that the merge used. An id is tried
        again if another process has written its record, if the record's person was erased meanwhile, or if a review of
        its turn changed in the same batch.
        """
        expected = _turns_of_changes(updates.values())
        found = await self._store.changes(dict.fromkeys(updates, 0), people, expected)
        loaded, ledger = found.stored, found.erased
        merges = {id_: _merged(loaded.get(id_), one, ledger.get(one.key.person)) for id_, one in updates.items()}
        turns = _turns_of_verdicts(merge.record for merge in merges.values())
        stored = found.reviews if turns <= expected else await self._store.on_turns(turns)
        reviews = reviews_that_count(stored)
        results = {id_: _revised(loaded.get(id_), merge, reviews) for id_, merge in merges.items()}
        saves = [
            Save(after.record, before.revision if before else 0)
            for after, before in ((after, loaded.get(id_)) for id_, after in results.items())
            if after.record is not None and after.record is not before
        ]
        saved = await self._store.save(saves, people, ledger) if saves else Saved(set())
        lost = {save.record.feedback_id for save in saves} - saved.ids
        for id_, after in results.items():
            if id_ not in lost:
                written[id_] = _keep_first_outcomes(written.get(id_), after)
        merged = {id_: after for id_, after in results.items() if id_ not in lost}
        replaced = [one.record for one in merged.values() if one.record is not None]
        others = [record for record in stored if record.feedback_id not in merged]
        again = _reviewed_since(merged, [*others, *replaced]) | _erased_since({}, saved.erased, updates)
        return lost | again, bool(saved.ids), ledger


def _turns_of_changes(updates: Iterable[PendingUpdate]) -> set[TurnKey]:
    """Return the turns of the changes that are verdicts of the machine."""
    changes = (one.change for update in updates for one in update.changes)
    return {
        TurnKey(one.key.tenant, one.key.project, one.key.conversation_id, one.entry.payload.turn_id)
        for one in changes
        if one.origin == "machine"
    }


def _turns_of_verdicts(records: Iterable[Record | None]) -> set[TurnKey]:
    return {record.turn for record in records if record is not None and record.is_verdict}


def _erased_since(before: ErasedAt, ledger: ErasedAt, updates: Mapping[UUID, PendingUpdate]) -> set[UUID]:
    """Return the ids of the updates by people with an erasure in `ledger` that is not in `before`."""
    if erased := unknown_erasures(ledger, before):
        return {id_ for id_, update in updates.items() if update.key.person in erased}
    return set()


def _reviewed_since(written: Mapping[UUID, WrittenRecord], stored: Iterable[Record]) -> set[UUID]:
    """Return the ids of records with an `overruled_by` that differs from the review in `stored`."""
    reviews = reviews_that_count(stored)
    return {
        id_
        for id_, one in written.items()
        if one.record is not None and one.record.overruled_by != review_over(one.record, reviews)
    }


@dataclass(frozen=True, slots=True)
class _Merge:
    """Merged record, before its next revision is set.

    `log_time` (microseconds) is the log time of the last change that had an effect.
    """

    record: Record | None
    outcomes: Mapping[int, Outcome]
    log_time: int


def _number(id_: UUID) -> int:
    """Return a sort key for ids. Sorting by it gives the order of the ids, but ten times faster."""
    return id_.int


def _revision(written: WrittenRecord) -> int:
    return written.record.revision if written.record else 0


def _merged(stored: Record | None, update: PendingUpdate, erased_at: int | None) -> _Merge:
    """Return the stored record with the erasure and all changes applied."""
    record = stored if stored is None else forget(stored, erased_at)
    log_time = max(update.log_time, 0 if record is stored else erased_at or 0)
    outcomes: dict[int, Outcome] = {}
    for one in update.changes:
        if is_erased(one.change.entry.stamp.occurred_at, erased_at, one.first_log_time):
            outcomes[one.index] = ERASED
            continue
        if not applies(record, one.change):
            outcomes[one.index] = UNMAPPED
            continue
        merged = merge(record, one.change)
        outcomes[one.index] = outcome_of(record, merged, one.change)
        if merged is not record:
            log_time = max(log_time, one.log_time)
        record = merged
    return _Merge(record, outcomes, log_time)


def _revised(stored: Record | None, merge: _Merge, reviews: ReviewOfTurn) -> WrittenRecord:
    """Return the merged record with `reviews` applied.

    It has the next revision if it differs from the stored record.
    """
    record = None if merge.record is None else overrule(merge.record, reviews)
    changed = record is not None and record is not stored
    return WrittenRecord(revise(record, merge.log_time) if record and changed else record, merge.outcomes)


def _keep_first_outcomes(before: WrittenRecord | None, after: WrittenRecord) -> WrittenRecord:
    """Return `after` with the outcomes of the first write, because the second merge of a change has no effect.

    Only an erasure replaces an outcome.
    """
    if before is None:
        return after
    outcomes = {index: was if after.outcomes[index] != ERASED else ERASED for index, was in before.outcomes.items()}
    return WrittenRecord(after.record, outcomes)


def _announcement(update: PendingUpdate, record: Record | None, erased_at: int | None) -> Message:
    """Return the Kafka record that announces a record.

    Return a tombstone if the record is not stored, because a store that was lost may have announced it.
    """
    if record is not None:
        return message_of(record, update.headers)
    return tombstone_of(update.key, (erased_at or 0) // 1_000, update.headers)
