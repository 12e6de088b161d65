"""Rejected events as their producers see them: event id, field and rule, never content. No I/O."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pydantic_core import from_json

from contracts.base import ID_PATTERN
from contracts.topics import INBOUND_TOPICS
from servicekit.log.outcome import Outcome

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ID: Final = re.compile(ID_PATTERN)
_TOPICS: Final = frozenset(topic.name for topic in INBOUND_TOPICS)
_INDEX: Final = re.compile(r"\.\d+")


class EventRefusal(NamedTuple):
    """A rejected event of a project.

    Attributes:
        topic: Empty if the event names no known topic.
        event_id: Empty if it cannot be read, or if a source dropped the event: such events share a row per reason.
        field: The field that violates the rule, or the source that dropped the event. Empty if the rule is not about a
            single field.
    """

    tenant: str
    project: str
    topic: str
    event_id: str
    field: str
    rule: str


def refusal_of_record(topic: str, value: bytes | None, outcome: Outcome) -> EventRefusal | None:
    """Convert a dead-lettered record to a rejected event.

    Returns None if the record's topic, tenant or project is invalid.
    """
    event = _object(value or b"")
    tenant, project = event.get("tenant"), event.get("project")
    if topic not in _TOPICS or not _is_name(tenant) or not _is_name(project):
        return None
    return EventRefusal(str(tenant), str(project), topic, _event_id(event), *_broken(outcome.reason, outcome.detail))


def refusal_of_line(tenant: str, project: str, line: bytes, reason: str, detail: str) -> EventRefusal:
    """Convert a rejected line of an HTTP request to a rejected event."""
    event = _object(line)
    topic = event.get("topic")
    named = topic if isinstance(topic, str) and topic in _TOPICS else ""
    return EventRefusal(tenant, project, named, _event_id(event), *_broken(reason, detail))


def _object(value: bytes) -> dict[str, object]:
    try:
        event = from_json(value)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _event_id(event: dict[str, object]) -> str:
    value = event.get("eventId")
    try:
        text = str(value) if type(value) is int else value
    except ValueError:  # an integer with thousands of digits
        return ""
    return text if isinstance(text, str) and len(text) <= 256 and _ID.fullmatch(text) else ""


def _broken(reason: str, detail: str) -> tuple[str, str]:
    """Return the field and the rule that it violates.

    List indexes in the field's path are replaced by [], to limit the number of distinct fields.
    """
    if reason != "invalid_event":
        return "", reason
    field, _, rule = detail.partition(": ")
    return _INDEX.sub("[]", field), rule or reason
