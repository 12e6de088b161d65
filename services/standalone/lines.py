"""Routing of the lines of an event file, and the check of a line against its event's model. Pure.

An invalid event is sent nevertheless: the services write it to the dead letters with its reason.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from contracts.base import RECORD_LIMIT, Envelope
from contracts.ids import conversation_key
from contracts.instants import LAST
from contracts.topics import CHAT_TOPICS
from servicekit.log.records import Coordinates, RawRecord, Unreadable, read

KEY_LIMIT = 512
"""Characters of a record key; a longer one belongs to an event that is refused anyway."""
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in CHAT_TOPICS}


@dataclass(frozen=True, slots=True)
class Routed:
    """A line with the topic it goes to and its record key (None where it names no conversation)."""

    topic: str
    key: str | None
    value: bytes


def route(line: bytes) -> Routed | str:
    """Return where `line` goes, or a sentence that says why it goes nowhere."""
    if len(line) > RECORD_LIMIT:
        return f"larger than {RECORD_LIMIT} bytes"
    value = line.strip()
    if not value:
        return "empty line"
    try:
        event: Any = from_json(value)
    except ValueError:
        return "not JSON"
    if not isinstance(event, dict):
        return "not a JSON object"
    topic = event.get("topic")
    if not isinstance(topic, str):
        return "no topic"
    if topic not in _MODELS:
        return "not a topic this system takes"
    return Routed(topic, _key_of(event), value)


def violation_of(routed: Routed) -> tuple[str, str] | None:
    """Return the reason and the broken rule of a record that every service rejects, without its content; else None.

    A time ahead of the log's is not checked: only the services know the log's time.
    """
    raw = RawRecord(Coordinates(routed.topic, 0, 0), None, routed.value, (), LAST)
    found = read(raw, _MODELS)
    return (found.reason, found.detail) if isinstance(found, Unreadable) else None


def _key_of(event: dict[str, Any]) -> str | None:
    match event:
        case {"tenant": str(tenant), "project": str(project), "conversationId": str(conversation)}:
            key = conversation_key(tenant, project, conversation)
            return key if len(key) <= KEY_LIMIT else None
        case _:
            return None


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file, from 1, split at the byte 0x0A only; the last one may lack it.

    A byte order mark, which some editors put before the first line, is no part of it.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, (line.removeprefix(BOM_UTF8) if number == 1 else line).removesuffix(b"\n")
