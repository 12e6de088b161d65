"""Records as JSON: the one form that every store keeps. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from feedback.model import Entry, Record

_SLOTS = TypeAdapter(dict[str, Entry])


def slots_to_json(record: Record) -> str:
    """The record's slots as JSON text."""
    return _SLOTS.dump_json(dict(record.slots)).decode()


def slots_from_json(text: str | bytes) -> dict[str, Entry]:
    """The slots behind `slots_to_json`."""
    return _SLOTS.validate_json(text)


def shown_columns(record: Record) -> dict[str, Any]:
    """What stores keep beside the slots so that they can count without reading them."""
    shown = record.shown
    return {"live": shown.present, "reaction": shown.payload.reaction if shown.present else None}
