"""Conversion between feedback records and the rows or documents of a store. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from feedback.model import Entry, Key, Record

SLOTS: Final = TypeAdapter(dict[str, Entry])
_FIELDS: Final = ("feedback_type", "origin", "revision", "created_revision", "overruled_by", "training_allowed")


def columns_of(record: Record) -> dict[str, Any]:
    """Return the values of a record by column name, without its id and its slots."""
    values = {name: getattr(record, name) for name in _FIELDS}
    return {**record.key._asdict(), **values, "live": record.live, "reaction": record.live_reaction}


def record_of(columns: Mapping[str, Any], slots: Mapping[str, Entry]) -> Record:
    """Return the record with these columns."""
    return Record(
        Key(*(columns[name] for name in Key._fields)), slots=slots, **{name: columns[name] for name in _FIELDS}
    )


def to_document(record: Record) -> dict[str, Any]:
    """Convert a record to nested lists and objects with fixed field names, without the record's id.

    The slots become a list, because an emoji or an empty string cannot be a field name. They are None for an erased
    record.
    """
    slots = SLOTS.dump_python(dict(record.slots), mode="json")
    return columns_of(record) | {"slots": [{"slot": slot, **entry} for slot, entry in slots.items()] or None}


def from_document(document: Mapping[str, Any]) -> Record:
    """Convert a document that `to_document` returned to a record."""
    slots = SLOTS.validate_python({slot["slot"]: slot for slot in document["slots"] or ()})
    # MongoDB's driver returns integers of a type of its own.
    revisions = {name: int(document[name]) for name in ("revision", "created_revision")}
    return record_of({**document, **revisions}, slots)
