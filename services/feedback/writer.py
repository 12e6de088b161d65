"""Writer that merges changes and erasures into stored feedback records, and announces the records."""

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
"""Outcome of a change that is covered by the erasure of its author."""


@dataclass(frozen=True, slots=True)
class BatchChange:
    """A change, with its index in the batch.

    Attributes:
        log_time: Log time of the event in microseconds. The record's next revision is at least this time in
            milliseconds.
        first_log_time: Log time in microseconds that decides if an erasure covers the change. For a replayed dead
            letter, it is the log time of the original record.
    """

    index: int
    change: Change
    log_time: int
    first_log_time: int


@dataclass(frozen=True, slots=True)
class PendingUpdate:
    """The changes to one feedback record in a batch.

    Without changes, the record is only announced again. Its next revision is at least `log_time` (microseconds) in
    milliseconds.
    """

    key: Key
    changes: tuple[BatchChange, ...] = ()
    headers: Headers = ()
    log_time: int = 0


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record after a write, and the outcomes of its changes.

    Attributes:
        record: None if the record does not exist.
        outcomes: The outcomes by index in the batch.
    """

    record: Record | None
    outcomes: Mapping[int, Outcome]


class AnnouncedRecords(NamedTuple):
    """Result of an announcement.

    If another process has changed a record in the meantime, the announcements of the two processes may be in the wrong
    order in the log, so the record must be announced again. Two processes write the same record only if its events are
    on two partitions. This happens if partitions were added, or if another program has produced some of the events.

    Attributes:
        written: The written records by feedback id.
        changed: True if any record changed.
        overtaken: The updates whose records another process has changed in the meantime, by feedback id.
    """

    written: Mapping[UUID, WrittenRecord]
    changed: bool
    overtaken: Mapping[UUID, PendingUpdate]


class FeedbackWriter:
    """Writer that merges updates into stored records and announces each record, even if it is unchanged.

    A crash at any point is harmless: the announcement is published again with the same event id.

    An erasure is written to the ledger before the person's records are read. Every write checks the ledger, and every
    writer reads the ledger again after each announcement. If an erasure and a batch run at the same time, at least one
    of them therefore sees the other. The last announcement of an erased record is its tombstone.

    Reviews and the verdicts that they overrule are kept consistent in the same way: the writer of a review looks for
    verdicts after its commit, and the writer of a verdict looks for reviews.
    """

    def __init__(self, store: Store, producer: Producer) -> None:
        self._store = store
        self._producer = producer

    async def write_and_announce(self, updates: Mapping[UUID, PendingUpdate]) -> AnnouncedRecords:
        """Write and announce the updates.

        The result contains the updates whose records another process has changed in the meantime.
        """
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
                    message
                    for id_ in sorted(to_announce, key=_number)
                    for message in _announcements(
                        updates[id_], written[id_].record, ledger.get(updates[id_].key.person)
                    )
                ],
            )
            known = {id_: _revision(one) for id_, one in written.items()}
            turns = _turns_of_verdicts(one.record for one in written.values())
            found = await self._store.changes(known, people, turns)
            open_ids = _erased_since(ledger, found.erased, updates) | _reviewed_since(written, found.reviews)
            ledger, overtaken = found.erased, {*found.records}
        return AnnouncedRecords(written, changed, {id_: updates[id_] for id_ in overtaken})

    async def announce_until_current(self, updates: Mapping[UUID, PendingUpdate]) -> bool:
        """Announce records until the last announcement of each record equals its stored state.

        Other processes may be writing the same records. Erasures are applied, but changes in the updates are ignored,
        because they are already stored.

        Returns:
            True if any record changed.
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
        """Merge and write the updates once, and add the results to `written`.

        An update must be repeated if another process has written its record, if its person has been erased in the
        meantime, or if a review of its turn changed in the same batch.

        Returns:
            The ids of the updates to repeat, True if any record changed, and the erasure ledger that was used.
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
    """Return the turns that the machine's verdicts in these updates are about."""
    changes = (one.change for update in updates for one in update.changes)
    return {
        TurnKey(one.key.tenant, one.key.project, one.key.conversation_id, one.entry.payload.turn_id)
        for one in changes
        if one.origin == "machine"
    }


def _turns_of_verdicts(records: Iterable[Record | None]) -> set[TurnKey]:
    return {record.turn for record in records if record is not None and record.is_verdict}


def _erased_since(before: ErasedAt, ledger: ErasedAt, updates: Mapping[UUID, PendingUpdate]) -> set[UUID]:
    """Return the ids of updates by people who were erased between two reads of the erasure ledger.

    A person was erased if the later read, `ledger`, has an entry that `before` lacks or in which the time differs.
    """
    if erased := unknown_erasures(ledger, before):
        return {id_ for id_, update in updates.items() if update.key.person in erased}
    return set()


def _reviewed_since(written: Mapping[UUID, WrittenRecord], stored: Iterable[Record]) -> set[UUID]:
    """Return the ids of records whose `overruled_by` is not the effective review in `stored`."""
    reviews = reviews_that_count(stored)
    return {
        id_
        for id_, one in written.items()
        if one.record is not None and one.record.overruled_by != review_over(one.record, reviews)
    }


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merged record, before its next revision is set.

    `log_time` (microseconds) is a lower bound for that revision. It is the latest of these times: the update's own log
    time, the log times of all changes that had an effect, and the time of the erasure if that had an effect.
    """

    record: Record | None
    outcomes: Mapping[int, Outcome]
    log_time: int


def _number(id_: UUID) -> int:
    """Return an integer that sorts like the id. Sorting by integers is ten times faster."""
    return id_.int


def _revision(written: WrittenRecord) -> int:
    return written.record.revision if written.record else 0


def _merged(stored: Record | None, update: PendingUpdate, erased_at: int | None) -> _Merge:
    """Apply the erasure and all changes to the stored record."""
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
    """Apply reviews to the merged record, and set its next revision if it differs from the stored record."""
    record = None if merge.record is None else overrule(merge.record, reviews)
    changed = record is not None and record is not stored
    return WrittenRecord(revise(record, merge.log_time) if record and changed else record, merge.outcomes)


def _keep_first_outcomes(before: WrittenRecord | None, after: WrittenRecord) -> WrittenRecord:
    """Return `after` with the outcomes of the first write, `before`.

    `after` is the result of merging the same changes again. A repeated change has no effect, so only its first outcome
    is right. The exception is the outcome ERASED, which `after` keeps.
    """
    if before is None:
        return after
    outcomes = {index: was if after.outcomes[index] != ERASED else ERASED for index, was in before.outcomes.items()}
    return WrittenRecord(after.record, outcomes)


def _announcements(update: PendingUpdate, record: Record | None, erased_at: int | None) -> list[Message]:
    """Return the Kafka records that announce a feedback record.

    If the record is not stored, this is a tombstone: the record may have been announced before the store lost it. If
    the person was erased and the record has later changes, a tombstone of its earlier revisions precedes the
    announcement.
    """
    if record is None:
        return [tombstone_of(update.key, (erased_at or 0) // 1_000, update.headers)]
    announced = message_of(record, update.headers)
    if erased_at is None or record.forgotten:
        return [announced]
    # If partitions were added, the announcement does not replace those in other partitions.
    return [tombstone_of(record.key, record.revision - 1, update.headers), announced]
