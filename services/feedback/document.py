"""Conversion between feedback records and documents. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from feedback.model import Entry, Key, Record

SLOTS = TypeAdapter(dict[str, Entry])


def to_document(record: Record) -> dict[str, Any]:
    """Convert a record to nested lists and objects with fixed field names, without the record's id.

    The slots become a list, because an emoji or an empty string cannot be a field name. They are None for an erased
    record.
    """
    slots = SLOTS.dump_python(dict(record.slots), mode="json")
    return {
        **record.key._asdict(),
        "feedback_type": record.feedback_type,
        "origin": record.origin,
        "slots": [{"slot": slot, **entry} for slot, entry in slots.items()] or None,
        "live": record.live,
        "reaction": record.live_reaction,
        "revision": record.revision,
        "created_revision": record.created_revision,
        "overruled_by": record.overruled_by,
        "training_allowed": record.training_allowed,
    }


def from_document(document: Mapping[str, Any]) -> Record:
    """Convert a document that `to_document` returned to a record."""
    slots: Sequence[Mapping[str, Any]] = document["slots"] or ()
    return Record(
        key=Key(*(document[name] for name in Key._fields)),
        feedback_type=document["feedback_type"],
        origin=document["origin"],
        slots=SLOTS.validate_python({slot["slot"]: slot for slot in slots}),
        revision=int(document["revision"]),
        created_revision=int(document["created_revision"]),
        overruled_by=document["overruled_by"],
        training_allowed=document["training_allowed"],
    )
