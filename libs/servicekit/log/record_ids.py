"""Ids of records that could not be processed, for log lines and lists of dead letters."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pydantic_core import from_json

from contracts.base import ID_LIMIT, ID_PATTERN
from servicekit.log.records import RawRecord

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ID: Final = re.compile(ID_PATTERN)


class RecordIds(NamedTuple):
    """Tenant, project and ids of an event. An id is None if it is missing or invalid."""

    tenant: str
    project: str
    event_id: str | None
    conversation_id: str | None
    message_id: str | None


def ids_of(raw: RawRecord) -> RecordIds | None:
    """Return the ids in a record's value.

    The result is None if the tenant or project is missing or invalid, or if there is neither a valid event id nor a
    valid message id.
    """
    try:
        event = from_json(raw.value or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not all(_fits(_NAME, event.get(name)) for name in ("tenant", "project")):
        return None
    names = ("eventId", "conversationId", "messageId")
    event_id, conversation, message = (event[name] if _fits(_ID, event.get(name)) else None for name in names)
    if event_id is None and message is None:
        return None
    return RecordIds(event["tenant"], event["project"], event_id, conversation, message)


def _fits(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and len(value) <= ID_LIMIT and pattern.fullmatch(value) is not None
