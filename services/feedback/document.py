"""Conversion between feedback records and documents. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from feedback.model import Entry, Record

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
