"""Merge a change into a record, the same for every store. Pure.

Records form a join-semilattice: each slot keeps the change of highest precedence. Merging is therefore commutative,
associative and idempotent. Only the revision may depend on the order of arrival.
"""

from __future__ import annotations

from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Final

from feedback.model import Change, Entry, Payload, Record
from servicekit import Outcome

_values_of: Final = attrgetter(*[one.name for one in fields(Payload) if one.name != "causation_id"])
SUPERSEDED = Outcome.ignored("superseded")
UNMAPPED = Outcome.ignored("unmapped_emoji")


def applies(record: Record | None, change: Change) -> bool:
    """Return True unless the change removes an emoji that has no reward and is not in the record.

    An emoji in the record can be removed even if its reward was removed meanwhile. The removal of an emoji that never
    had a reward is not stored.
    """
    if change.feedback_type != "reaction" or change.entry.payload.value is not None:
        return True
    return record is not None and change.slot in record.slots


def merge(record: Record | None, change: Change) -> Record:
    """Return the record with `change` merged into it; the same object if nothing changes."""
    if record is None:
        return Record(change.key, change.feedback_type, change.origin, {change.slot: change.entry})
    standing = record.slots.get(change.slot)
    if standing is not None and standing.precedence >= change.entry.precedence:
        return record
    return replace(record, origin=change.origin, slots={**record.slots, change.slot: change.entry})


def revise(record: Record, log_time: int) -> Record:
    """Return the record with its next revision, which is at least `log_time` in milliseconds.

    The revision therefore also increases after the store was restored from a backup. `log_time` is in microseconds. A
    change of a stub creates the record again, so this is its first revision.
    """
    revision = max(record.revision + 1, log_time // 1_000)
    created = 0 if record.forgotten else record.created_revision or revision
    return replace(record, revision=revision, created_revision=created)


def outcome_of(before: Record | None, after: Record, change: Change) -> Outcome:
    """Return the outcome of an event that changed a record from `before` to `after`.

    The outcome is UNCHANGED if the event changed no visible field, and SUPERSEDED if the slot (such as an
    emoji) already has a change of higher precedence.
    """
    if before is not None and after is before:
        standing = before.slots[change.slot]
        repeats = standing.stamp.event_id == change.entry.stamp.event_id or _says(standing) == _says(change.entry)
        return Outcome.UNCHANGED if repeats else SUPERSEDED
    if before is not None and not before.forgotten and _says(before.current_entry) == _says(after.current_entry):
        return Outcome.UNCHANGED
    return Outcome.STORED


def _says(entry: Entry) -> tuple[bool, tuple[Any, ...]]:
    """Return the visible fields of an entry, without the fields that identify the event."""
    return entry.present, _values_of(entry.payload)
