"""Merging of changes, erasures and reviews into feedback records, in the same way for every store. No I/O.

A record has slots, for example one per emoji, and each slot keeps its change of highest precedence. Merging is
therefore commutative, associative and idempotent (records form a join-semilattice). Only the revision may depend on the
order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from contracts.erasure import is_erased
from contracts.message_fields import TurnKey
from feedback.model import ONLY_SLOT, Change, Entry, Payload, Record
from servicekit.log.outcome import Outcome

_values_of: Final = attrgetter(*[field.name for field in fields(Payload) if field.name != "causation_id"])
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
    reviews = [record for record in records if record.is_live_review]
    reviews.sort(key=lambda review: (review.current_entry.stamp.occurred_at, review.feedback_id))
    return {review.turn: review.feedback_id for review in reviews}


def overrule(record: Record, reviews: Mapping[TurnKey, UUID]) -> Record:
    """Return the record with `overruled_by` set to the review that counts on its turn, if it is a live verdict.

    Returns the same object if nothing changes.
    """
    is_verdict = record.is_verdict and record.current_entry.present
    review = reviews.get(record.turn) if is_verdict else None
    return record if record.overruled_by == review else replace(record, overruled_by=review)


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


def _shown(entry: Entry) -> tuple[bool, tuple[Any, ...]]:
    """Return the visible fields of an entry, without those that identify the event."""
    return entry.present, _values_of(entry.payload)
