"""Remove a person's changes from a record after an erasure. Pure."""

from __future__ import annotations

from dataclasses import replace

from contracts.erasure import is_erased
from feedback.model import Record


def forget(record: Record, erased_at: int | None) -> Record:
    """Return the record without the changes that the erasure covers. It is a stub if no change is left.

    If the erasure covers nothing, the same object is returned.
    """
    kept = {slot: entry for slot, entry in record.slots.items() if not is_erased(entry.stamp.occurred_at, erased_at)}
    return record if len(kept) == len(record.slots) else replace(record, slots=kept)
