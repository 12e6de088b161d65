"""Converts the lines of a request into records, with the consumers' checks, before anything is written.

Yields to the event loop between lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from contracts.base import Envelope
from contracts.topics import BY_NAME, CHAT_TOPICS
from servicekit.log.messages import Message
from servicekit.log.records import Coordinates, Headers, RawRecord, Unreadable, read

LINES_LIMIT = 50_000
"""Lines of one request."""
_AT_ONCE = 200
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in CHAT_TOPICS}
_BLANKS = b" \t\r"


class TooManyLines(Exception):
    """More than LINES_LIMIT lines."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line, numbered from 1, that was not taken: why as a short name, and in words without its content."""

    line: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Checked:
    messages: Sequence[Message]
    refused: Sequence[RefusedLine]


@dataclass(frozen=True, slots=True)
class IngestProject:
    """The project that a request names, and the moment its events are judged at (microseconds)."""

    tenant: str
    project: str
    now: int


async def check(body: bytes, place: IngestProject, headers: Headers = ()) -> Checked:
    """The records of `body`, one JSON object a line, and the lines that are none. Blank lines count for nothing.

    Raises TooManyLines.
    """
    if body.count(b"\n") > LINES_LIMIT:
        raise TooManyLines
    messages: list[Message] = []
    refused: list[RefusedLine] = []
    for number, text in enumerate(body.split(b"\n"), 1):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        line = text.strip(_BLANKS)
        if not line:
            continue
        result = check_line(line, place, headers)
        if isinstance(result, Message):
            messages.append(result)
        else:
            refused.append(RefusedLine(number, *result))
    return Checked(messages, refused)


def check_line(line: bytes, place: IngestProject, headers: Headers = ()) -> Message | tuple[str, str]:
    """The record of a line, or why there is none.

    A line that names no tenant or project is of the request's; one that names another's is refused.
    """
    try:
        event: Any = from_json(line)
    except ValueError:
        return "invalid_json", "not one JSON value in UTF-8"
    if not isinstance(event, dict):
        return "invalid_json", "not a JSON object"
    topic = event.get("topic")
    if not isinstance(topic, str) or topic not in _MODELS:
        return "unknown_topic", f"topic must be one of {', '.join(_MODELS)}"
    for name, value in (("project", place.project), ("tenant", place.tenant)):
        if name not in event:
            # Set in front of the rest, which stays as it was sent to the byte; names of places need no escaping.
            line = b'{"%s":"%s",%s' % (name.encode(), value.encode(), line[1:])
        elif event[name] != value:
            return f"other_{name}", f"{name} is not that of the address"
    result = read(RawRecord(Coordinates(topic, 0, 0), None, line, (), place.now), _MODELS)
    if isinstance(result, Unreadable):
        return result.reason, result.detail
    return Message(topic, BY_NAME[topic].key(result.event), line, headers)
