"""Removal of an erased person's changes from a feedback record. No I/O."""

from __future__ import annotations

from dataclasses import replace

from contracts.erasure import is_erased
from feedback.model import Record


def forget(record: Record, erased_at: int | None) -> Record:
    """Return the record without the changes that the erasure covers.

    Returns the same object if the erasure covers none of them. If no change is left, the result is an erased record.
    """
    kept = {slot: entry for slot, entry in record.slots.items() if not is_erased(entry.stamp.occurred_at, erased_at)}
    return record if len(kept) == len(record.slots) else replace(record, slots=kept)
