"""Routing of the lines of an event file to their topics.

Invalid events are published too. The services turn them into dead letters, which contain the reason.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from contracts.base import RECORD_LIMIT
from contracts.ids import conversation_key
from contracts.sources import POST_PREFIX
from contracts.topics import EXPLICIT_RECEIVED, INBOUND_TOPICS, SESSION_CREATED

KEY_LIMIT = 512
"""Maximum length of a record key in characters. Only events that are rejected anyway have a longer key."""
_TOPICS = frozenset(topic.name for topic in (*INBOUND_TOPICS, EXPLICIT_RECEIVED, SESSION_CREATED))


@dataclass(frozen=True, slots=True)
class Routed:
    """A line of an event file with its topic and record key. The key is None if the line names no conversation."""

    topic: str
    key: str | None
    value: bytes


def route(line: bytes) -> Routed | str:
    """Return the line with its topic and record key, or the reason why it has no topic."""
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
    if topic not in _TOPICS:
        return "not a topic that this system reads"
    return Routed(topic, _key_of(event), value)


def _key_of(event: dict[str, Any]) -> str | None:
    match event:
        case {"tenant": str(tenant), "project": str(project), "conversationId": str(conversation)}:
            key = conversation_key(tenant, project, conversation)
        case {"tenant": str(tenant), "project": str(project), "postId": str(post)}:
            key = conversation_key(tenant, project, POST_PREFIX + post)
        case {"tenant": str(tenant), "sessionIdOpaque": str(session)}:
            key = f"{tenant}/{session}"
        case _:
            return None
    return key if len(key) <= KEY_LIMIT else None


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, counted from 1, without a byte order mark at the start.

    Only the byte 0x0A ends a line. The last line may lack it.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, (line.removeprefix(BOM_UTF8) if number == 1 else line).removesuffix(b"\n")
