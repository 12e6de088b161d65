"""Feedback records, and the merging of changes, erasures and reviews into them, alike for every store. No I/O.

A record has slots, for example one per emoji, and each slot keeps its change of highest precedence. Merging is
therefore commutative, associative and idempotent (records form a join-semilattice). Only the revision may depend on the
order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic import TypeAdapter

from contracts.base import CorrectionType, DecidedBy, FeedbackType, Origin, Reaction, UserType
from contracts.detectors import precedence
from contracts.erasure import Person, is_erased
from contracts.ids import feedback_id
from contracts.message_fields import TurnKey
from contracts.provenance import NO_PROVENANCE, Provenance
from contracts.sources import REVIEW
from servicekit.log.outcome import Outcome

ONLY_SLOT = ""
"""Name of a record's only slot. Emoji reactions have a slot per emoji instead, unless the platform keeps only a
person's last emoji. A removal in this slot also removes all earlier emojis in other slots."""


class Key(NamedTuple):
    """Key of a feedback record. It includes the tenant, so a tenant cannot write records of another tenant."""

    tenant: str
    project: str
    conversation_id: str
    source: str
    user_id: str
    agent_id: str
    source_id: str

    @property
    def person(self) -> Person:
        return Person(self.tenant, self.user_id)

    @property
    def feedback_id(self) -> UUID:
        return feedback_id(*self)


class LedgerEntry(NamedTuple):
    """Entry of a person in the erasure ledger.

    Attributes:
        erased_at: Time of the person's latest erasure in microseconds, or None if there was none.
        training_allowed: False if the person's latest choice forbids training.
    """

    erased_at: int | None = None
    training_allowed: bool = True


NO_ENTRY: Final = LedgerEntry()
LedgerEntries = Mapping[Person, LedgerEntry]


class Stamp(NamedTuple):
    """Sort key of the changes to a slot. The change with the highest stamp is effective.

    Stamps of verdicts are compared only within a detector's release and mode. At equal times and sequences, a removal
    sorts after an addition. `event_id` and `digest` break ties, so different events never have equal stamps.

    Attributes:
        evaluation: 0 except for inferred feedback.
        occurred_at: Time of the event in microseconds.
        sequence: -1 if the event has no sequence.
        digest: Digest of the payload.
    """

    evaluation: int
    occurred_at: int
    sequence: int
    removed: bool
    event_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Payload:
    """Content of a change.

    Except for `provenance`, the fields have the same names as in `feedback.created` and in the received event.

    `value` is the reward, from -1 to 1.
    """

    turn_id: str
    agent_id: str
    agent_message_id: str | None
    user_type: UserType
    causation_id: str
    reaction: Reaction | None = None
    value: float | None = None
    confidence: float = 1.0
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    emoji: str | None = None
    correction_type: CorrectionType | None = None
    provenance: Provenance = NO_PROVENANCE
    reviews: str | None = None
    question_message_id: str | None = None
    thread_id: str | None = None
    detector: str | None = None
    decided_by: DecidedBy | None = None
    rating: int | None = None
    worst_rating: int | None = None
    best_rating: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Latest change to a slot.

    `present` is False if the change retracted the feedback.
    """

    stamp: Stamp
    present: bool
    payload: Payload

    @property
    def precedence(self) -> tuple[tuple[int, int], Stamp]:
        """Sort key of the changes to a slot: the detector's release and mode (only of verdicts), then the stamp."""
        return precedence(self.payload.detector), self.stamp


_COLUMNS: Final = ("feedback_type", "origin", "revision", "created_revision", "overruled_by", "training_allowed")


@dataclass(frozen=True)
class Record:
    """A stored feedback record.

    A record without slots was erased: only its ids and its revision are left.

    Attributes:
        slots: The latest change to each slot.
        revision: 0 before the record is stored.
        created_revision: The record's first revision.
        overruled_by: Feedback id of the review that replaces a machine's verdict.
        training_allowed: False if the person forbids training.
    """

    key: Key
    feedback_type: FeedbackType
    origin: Origin
    slots: Mapping[str, Entry] = field(default_factory=dict)
    revision: int = 0
    created_revision: int = 0
    overruled_by: UUID | None = None
    training_allowed: bool = True

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], slots: Mapping[str, Entry]) -> Record:
        """Return the record with these values by column name."""
        return cls(
            Key(*(columns[name] for name in Key._fields)), slots=slots, **{name: columns[name] for name in _COLUMNS}
        )

    @property
    def columns(self) -> dict[str, Any]:
        """The values of the record by column name, without its id and its slots."""
        return self.key._asdict() | {name: getattr(self, name) for name in _COLUMNS}

    @cached_property
    def feedback_id(self) -> UUID:
        return self.key.feedback_id

    @cached_property
    def current_entry(self) -> Entry:
        """The latest entry that is not retracted. If all entries are retracted, this is the latest one.

        Raises ValueError for an erased record.
        """
        removal = self.slots.get(ONLY_SLOT)
        bound = None if removal is None or removal.present else removal.precedence

        def rank(entry: Entry) -> tuple[bool, tuple[tuple[int, int], Stamp]]:
            return entry.present and (bound is None or entry.precedence > bound), entry.precedence

        return max(self.slots.values(), key=rank)

    @property
    def forgotten(self) -> bool:
        return not self.slots

    @property
    def live(self) -> bool:
        """True if the feedback counts: it is not erased, retracted or overruled."""
        return not self.forgotten and self.current_entry.present and self.overruled_by is None

    @property
    def turn(self) -> TurnKey:
        """The turn that the record is about. Raises ValueError for an erased record."""
        return TurnKey(self.key.tenant, self.key.project, self.key.conversation_id, self.current_entry.payload.turn_id)

    @property
    def is_verdict(self) -> bool:
        """True for a machine's verdict, even if it is retracted. False for an erased record."""
        return self.origin == "machine" and not self.forgotten


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a feedback record by one event."""

    key: Key
    feedback_type: FeedbackType
    origin: Origin
    slot: str
    entry: Entry


SUPERSEDED = Outcome.ignored("superseded")
UNMAPPED = Outcome.ignored("unmapped_emoji")


def applies(record: Record | None, change: Change) -> bool:
    """Return False if the change removes one of a person's emojis that has no reward and is not in the record.

    Such a removal is not stored. An emoji in the record can be removed even if it has lost its reward since then.
    """
    if change.feedback_type != "reaction" or change.slot == ONLY_SLOT or change.entry.payload.value is not None:
        return True
    return record is not None and change.slot in record.slots


def merge(record: Record | None, change: Change) -> Record:
    """Return the record with the change merged into it.

    Returns the same object if nothing changes.
    """
    if record is None:
        return Record(change.key, change.feedback_type, change.origin, {change.slot: change.entry})
    current = record.slots.get(change.slot)
    if current is not None and current.precedence >= change.entry.precedence:
        return record
    return replace(record, origin=change.origin, slots={**record.slots, change.slot: change.entry})


def forget(record: Record, erased_at: int | None) -> Record:
    """Return the record without the changes that the erasure covers.

    Returns the same object if the erasure covers none of them. If no change is left, the result is an erased record.
    """
    kept = {slot: entry for slot, entry in record.slots.items() if not is_erased(entry.stamp.occurred_at, erased_at)}
    return record if len(kept) == len(record.slots) else replace(record, slots=kept)


def reviews_that_count(records: Iterable[Record]) -> Mapping[TurnKey, UUID]:
    """Return the feedback id of each turn's newest review that is not retracted."""
    reviews = [record for record in records if record.key.source == REVIEW and record.live]
    reviews.sort(key=lambda review: (review.current_entry.stamp.occurred_at, review.feedback_id))
    return {review.turn: review.feedback_id for review in reviews}


def overrule(record: Record, reviews: Mapping[TurnKey, UUID]) -> Record:
    """Return the record with `overruled_by` set to the review that counts on its turn, if it is a live verdict.

    Returns the same object if nothing changes.
    """
    is_verdict = record.is_verdict and record.current_entry.present
    review = reviews.get(record.turn) if is_verdict else None
    return record if record.overruled_by == review else replace(record, overruled_by=review)


def mark(record: Record, training_allowed: bool) -> Record:
    """Return the record with the person's choice about training. Returns the same object if nothing changes."""
    if record.forgotten or record.training_allowed == training_allowed:
        return record
    return replace(record, training_allowed=training_allowed)


def revise(record: Record, log_time: int) -> Record:
    """Return the record with its next revision.

    The revision is at least `log_time` (microseconds) in milliseconds, so revisions increase even after the store was
    restored from a backup. A change to an erased record creates the record anew: its `created_revision` is then set to
    the returned revision.
    """
    revision = max(record.revision + 1, log_time // 1_000)
    created = 0 if record.forgotten else record.created_revision or revision
    return replace(record, revision=revision, created_revision=created)


def outcome_of(before: Record | None, after: Record, change: Change) -> Outcome:
    """Return the outcome of an event that changed a record from `before` to `after`.

    Returns:
        UNMAPPED for an emoji without a reward that replaced a person's previous emoji, UNCHANGED if no visible field
        changed, SUPERSEDED if the slot already has a change of higher precedence, or else STORED.
    """
    payload = change.entry.payload
    if change.feedback_type == "reaction" and change.slot == ONLY_SLOT and payload.emoji and payload.value is None:
        return UNMAPPED
    if before is not None and after is before:
        current = before.slots[change.slot]
        repeats = current.stamp.event_id == change.entry.stamp.event_id or _shown(current) == _shown(change.entry)
        return Outcome.UNCHANGED if repeats else SUPERSEDED
    if before is not None and not before.forgotten and _shown(before.current_entry) == _shown(after.current_entry):
        return Outcome.UNCHANGED
    return Outcome.STORED


def _shown(entry: Entry) -> tuple[bool, Payload]:
    """Return the visible fields of an entry, without those that identify the event."""
    return entry.present, replace(entry.payload, causation_id="")


def unknown_entries(stored: LedgerEntries, ledger: LedgerEntries) -> LedgerEntries:
    """Return the stored entries that are missing in `ledger`, or different there."""
    return {person: entry for person, entry in stored.items() if ledger.get(person, NO_ENTRY) != entry}


SLOTS: Final = TypeAdapter(dict[str, Entry])


def to_document(record: Record) -> dict[str, Any]:
    """Convert a record to nested lists and objects with fixed field names, without the record's id.

    The slots become a list, because an emoji or an empty string cannot be a field name. They are None for an erased
    record.
    """
    slots = SLOTS.dump_python(dict(record.slots), mode="json")
    return record.columns | {"slots": [{"slot": slot, **entry} for slot, entry in slots.items()] or None}


def from_document(document: Mapping[str, Any]) -> Record:
    """Convert a document that `to_document` returned to a record."""
    slots = SLOTS.validate_python({slot["slot"]: slot for slot in document["slots"] or ()})
    # MongoDB's driver returns integers of a type of its own.
    revisions = {name: int(document[name]) for name in ("revision", "created_revision")}
    return Record.of_columns({**document, **revisions}, slots)
