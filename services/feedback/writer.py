"""Merging of changes and erasures into stored feedback records, and the announcement of the records.

A batch is one unit of work. Records that are not settled yet are open: each pass loads them, merges the changes, and
writes and announces the records. A record is opened again if the pass lost a race, and the unit of work ends when no
record is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final, Literal
from uuid import UUID

from contracts.erasure import is_erased
from contracts.feedback import FeedbackCreated
from contracts.headers import Headers
from contracts.ids import conversation_key, revision_event_id
from contracts.message_fields import TurnKey
from contracts.sources import REVIEW
from contracts.topics import FEEDBACK_CREATED
from feedback.model import (
    NO_ENTRY,
    UNMAPPED,
    Change,
    Key,
    LedgerEntries,
    Payload,
    Record,
    applies,
    forget,
    mark,
    merge,
    outcome_of,
    overrule,
    reviews_that_count,
    revise,
    unknown_entries,
)
from feedback.store import NOBODY, Save, Saved, Store
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.records import Message, Producer


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
class Update:
    """The changes to one feedback record in a batch.

    Without changes, the record is only announced again. Its next revision is at least `log_time` (microseconds) in
    milliseconds.
    """

    key: Key
    changes: tuple[BatchChange, ...] = ()
    headers: Headers = ()
    log_time: int = 0

    @property
    def turns(self) -> set[TurnKey]:
        """The turns with machine verdicts that the update changes, or the turn that a review is about."""
        key = self.key
        if key.source == REVIEW:
            return {TurnKey(key.tenant, key.project, key.conversation_id, key.source_id)}
        changes = [batch_change.change for batch_change in self.changes]
        verdicts = [change.entry.payload for change in changes if change.origin == "machine"]
        return {TurnKey(key.tenant, key.project, key.conversation_id, payload.turn_id) for payload in verdicts}


async def write_and_announce(store: Store, producer: Producer, updates: Mapping[UUID, Update]) -> UnitOfWork:
    """Merge updates into stored records, and announce each record until its last announcement equals the stored record.

    Unchanged records are announced, too. A crash at any point is harmless: the announcement is published again with the
    same event id. Returns the completed unit of work.
    """
    work = UnitOfWork(store, updates)
    while work.open:
        await work.write()
        if not work.open:
            await producer.send(work.announcements())
            await work.check()
    return work


class UnitOfWork:
    """The records of a batch, from their first load to their last announcement.

    - An erasure or a choice about training is in the ledger before the person's records are read. Every write checks
      the ledger, and `check` reads it again after each announcement. If an erasure and a batch run at the same time, at
      least one of them therefore sees the other. The last announcement of an erased record is its tombstone.
    - A review and the verdicts that it overrules are kept consistent in the same way: `write` and `check` load the
      reviews and verdicts on the turns of the batch with its records.
    - If another process changes a record while this one announces it, the two announcements may be in the wrong order
      in the log, so `check` opens the record again. Two processes write the same record only if its events are on two
      partitions. This happens if partitions were added, or if another program has produced some of the events.

    Attributes:
        open: Ids of the records that must be loaded, merged and written.
        outcomes: Outcome of each change by its index in the batch, from the first time that it was merged.
        has_changed: True if any record was written.
    """

    def __init__(self, store: Store, updates: Mapping[UUID, Update]) -> None:
        self._store = store
        self._updates = dict(updates)
        self._people = {update.key.person for update in updates.values()}
        self._records: dict[UUID, Record | None] = {}
        self._to_announce: set[UUID] = set()
        self._ledger: LedgerEntries = NOBODY
        self.open = {*updates}
        self.outcomes: dict[int, Outcome] = {}
        self.has_changed = False

    async def write(self) -> None:
        """Load, merge and write the open records once. Records that another process has written stay open."""
        turns = {turn for id_ in self.open for turn in self._updates[id_].turns}
        changes = await self._store.changes(dict.fromkeys(self.open, 0), self._people, turns)
        # A settled record is opened again if the ledger changed meanwhile, but only this pass's records are loaded.
        reopened = self._by_people(unknown_entries(changes.ledger, self._ledger)) - self.open
        self._ledger = changes.ledger
        stored = {id_: record for id_, record in changes.records.items() if record is not None}
        loaded = {**stored, **self._add_verdicts(changes.on_turns)}
        updates = {id_: self._updates[id_] for id_ in self.open}
        merges = {id_: _merged(loaded.get(id_), one, self._erased_at(one.key)) for id_, one in updates.items()}
        merged = [merge.record for merge in merges.values() if merge.record is not None]
        others = [record for record in changes.on_turns if record.feedback_id not in merges]
        reviews = reviews_that_count([*others, *merged])
        records = {id_: self._revised(loaded.get(id_), merge, reviews) for id_, merge in merges.items()}
        saves = [
            Save(record, before.revision if before else 0)
            for id_, record in records.items()
            for before in [loaded.get(id_)]
            if record is not None and record is not before
        ]
        saved = await self._store.save(saves, self._people, self._ledger) if saves else Saved(set())
        lost = {save.record.feedback_id for save in saves} - saved.ids
        for id_ in self.open - lost:
            self._settle(id_, records[id_], merges[id_].outcomes)
        self.has_changed = self.has_changed or bool(saved.ids)
        self.open = lost | self._by_people(saved.unknown) | reopened

    async def check(self) -> None:
        """Open the announced records that another process has changed, erased or reviewed in the meantime."""
        revisions = {id_: record.revision if record else 0 for id_, record in self._records.items()}
        turns = {turn for update in self._updates.values() for turn in update.turns}
        changes = await self._store.changes(revisions, self._people, turns)
        reviews = reviews_that_count(changes.on_turns)
        overruled = {id_ for id_, record in self._records.items() if record and overrule(record, reviews) is not record}
        self.open = {*changes.records} | overruled | self._by_people(unknown_entries(changes.ledger, self._ledger))
        self._add_verdicts(changes.on_turns)

    def announcements(self) -> list[Message]:
        """Return the Kafka records that announce the records which were settled since the last call."""
        settled, self._to_announce = sorted(self._to_announce, key=attrgetter("int")), set()
        return [
            message
            for id_ in settled
            for update in [self._updates[id_]]
            for message in _announcements(update, self._records[id_], self._erased_at(update.key))
        ]

    def _revised(self, stored: Record | None, merge: _Merge, reviews: Mapping[TurnKey, UUID]) -> Record | None:
        """Apply reviews and the choice about training, and set the next revision if the record has changed."""
        if merge.record is None:
            return None
        entry = self._ledger.get(merge.record.key.person, NO_ENTRY)
        record = mark(overrule(merge.record, reviews), entry.training_allowed)
        return record if record is stored else revise(record, merge.log_time)

    def _erased_at(self, key: Key) -> int | None:
        return self._ledger.get(key.person, NO_ENTRY).erased_at

    def _settle(self, id_: UUID, record: Record | None, outcomes: Mapping[int, Outcome]) -> None:
        """Note a written record.

        Changes that are merged again have no effect, so only their first outcome is right, unless an erasure covers
        them now.
        """
        self._records[id_] = record
        self._to_announce.add(id_)
        for index, outcome in outcomes.items():
            if index not in self.outcomes or outcome == ERASED:
                self.outcomes[index] = outcome

    def _add_verdicts(self, on_turns: Iterable[Record]) -> dict[UUID, Record]:
        """Add the stored verdicts on reviewed turns to the unit of work, open them, and return them by id.

        The ledger may not contain their authors yet; `save` or `check` then finds their entries.
        """
        reviews = [update for update in self._updates.values() if update.key.source == REVIEW]
        reviewed = {turn: review for review in reviews for turn in review.turns}
        added = {
            record.feedback_id: record
            for record in on_turns
            if record.is_verdict and record.turn in reviewed and record.feedback_id not in self._updates
        }
        for id_, record in added.items():
            self._updates[id_] = _about(record.key, reviewed[record.turn])
            self._people.add(record.key.person)
        self.open |= {*added}
        return added

    def _by_people(self, people: LedgerEntries) -> set[UUID]:
        return {id_ for id_, update in self._updates.items() if update.key.person in people} if people else set()


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merged record, before its next revision is set.

    `log_time` (microseconds) is a lower bound for that revision. It is the latest of these times: the update's own log
    time, the log times of all changes that had an effect, and the time of the erasure if that had an effect.
    """

    record: Record | None
    outcomes: Mapping[int, Outcome]
    log_time: int


def _about(verdict: Key, review: Update) -> Update:
    """Return an update without changes that announces a verdict with the revision of a review of its turn."""
    log_time = max((batch_change.log_time for batch_change in review.changes), default=0)
    return Update(verdict, headers=review.headers, log_time=log_time)


def _merged(stored: Record | None, update: Update, erased_at: int | None) -> _Merge:
    """Apply the erasure and all changes to the stored record."""
    record = stored if stored is None else forget(stored, erased_at)
    log_time = max(update.log_time, 0 if record is stored else erased_at or 0)
    outcomes: dict[int, Outcome] = {}
    for batch_change in update.changes:
        if is_erased(batch_change.change.entry.stamp.occurred_at, erased_at, batch_change.first_log_time):
            outcomes[batch_change.index] = ERASED
            continue
        if not applies(record, batch_change.change):
            outcomes[batch_change.index] = UNMAPPED
            continue
        merged = merge(record, batch_change.change)
        outcomes[batch_change.index] = outcome_of(record, merged, batch_change.change)
        if merged is not record:
            log_time = max(log_time, batch_change.log_time)
        record = merged
    return _Merge(record, outcomes, log_time)


def _announcements(update: Update, record: Record | None, erased_at: int | None) -> list[Message]:
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


_DEFAULTS: Final = {field.name: field.default for field in fields(Payload) if field.name != "provenance"}
"""Default values of a payload's fields, by their names in the event."""
_values_of: Final = attrgetter(*_DEFAULTS)
_IF_CLEARED: Final = _DEFAULTS.keys() - {
    *("turn_id", "agent_id", "agent_message_id", "user_type", "confidence", "causation_id"),
    *("detector", "decided_by", "question_message_id", "thread_id"),
}
"""Fields that a cleared record does not announce."""
_IF_OVERRULED: Final = _IF_CLEARED - {"text", "tags", "correction_type"}
"""Fields that an overruled verdict does not announce.

The person's message (`text`) and the detector's rules (`tags`) are needed to measure detectors.
"""


def announcement(record: Record) -> FeedbackCreated:
    """Return the event that announces the current state of a record.

    Raises:
        ValueError: The record was erased. `message_of` returns a tombstone for it.
    """
    shown, key, live = record.current_entry, record.key, record.live
    payload = shown.payload
    hidden = () if live else _IF_CLEARED if record.overruled_by is None else _IF_OVERRULED
    content = dict(zip(_DEFAULTS, _values_of(payload), strict=True)) | {name: _DEFAULTS[name] for name in hidden}
    change: Literal["created", "updated", "cleared"] = (
        "cleared" if not live else "created" if record.revision == record.created_revision else "updated"
    )
    return FeedbackCreated(
        event_id=revision_event_id(record.feedback_id, record.revision),
        occurred_at=shown.stamp.occurred_at,
        sequence=None if shown.stamp.sequence < 0 else shown.stamp.sequence,
        tenant=key.tenant,
        project=key.project,
        feedback_id=record.feedback_id,
        change=change,
        revision=record.revision,
        recorded_at=record.revision * 1_000,
        conversation_id=key.conversation_id,
        user_id=key.user_id,
        origin=record.origin,
        feedback_type=record.feedback_type,
        source=key.source,
        source_id=key.source_id,
        rn=f"ef:{key.tenant}:{key.project}:{key.user_id}:{key.conversation_id}:{payload.turn_id}"
        f":artifact:{record.feedback_id}",
        overruled_by=record.overruled_by,
        overruled_reaction=None if record.overruled_by is None else payload.reaction,
        training_allowed=record.training_allowed,
        **content,
        **payload.provenance.fields(),
    )


def message_of(record: Record, headers: Headers = ()) -> Message:
    """Return the Kafka record that announces a feedback record on `feedback.created`.

    An erased record is announced by a tombstone. All announcements of a conversation are in one partition, and so in
    order, unless partitions are added to the topic.
    """
    if record.forgotten:
        return tombstone_of(record.key, record.revision, headers)
    value = announcement(record).model_dump_json(by_alias=True).encode()
    return Message(
        FEEDBACK_CREATED.name, str(record.key.feedback_id), value, headers, placed_by=conversation_key(*record.key[:3])
    )


def tombstone_of(key: Key, revision: int, headers: Headers = ()) -> Message:
    """Return the tombstone that deletes all announced revisions of a feedback record up to `revision`."""
    return Message.tombstone(FEEDBACK_CREATED.name, str(key.feedback_id), revision, headers, conversation_key(*key[:3]))
