"""Convert the lines of a request to records, with all checks of the consumer that do not need the log's time.

It yields to the event loop between groups of lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json

from contracts.base import Envelope
from contracts.topics import BY_NAME, INBOUND_TOPICS
from servicekit import Message, Received, Unreadable

LINES_LIMIT = 50_000
"""Maximum number of lines in a request."""
_AT_ONCE = 200
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in INBOUND_TOPICS}
_BLANKS = b" \t\r"


class TooManyLines(Exception):
    """The request has more than LINES_LIMIT lines."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A rejected line; lines are numbered from 1.

    `reason` is a short name. `detail` explains it without quoting the line.
    """

    line: int
    reason: str
    detail: str


class ValidLine(NamedTuple):
    """Record of a valid line. `number` is the number of the line, from 1. `occurred_at` is in microseconds."""

    message: Message
    occurred_at: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    valid: Sequence[ValidLine]
    refused: Sequence[RefusedLine]


@dataclass(frozen=True, slots=True)
class IngestProject:
    """Tenant and project of a request."""

    tenant: str
    project: str


async def check(body: bytes, place: IngestProject) -> Checked:
    """Return the valid and the rejected lines of `body`, which has one JSON object per line. Blank lines are skipped.

    Raises TooManyLines if there are more than LINES_LIMIT lines.
    """
    if body.count(b"\n") > LINES_LIMIT:
        raise TooManyLines
    valid: list[ValidLine] = []
    refused: list[RefusedLine] = []
    for number, text in enumerate(body.split(b"\n"), 1):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        line = text.strip(_BLANKS)
        if not line:
            continue
        result = check_line(line, place)
        if isinstance(result, ValidLine):
            valid.append(result._replace(number=number))
        else:
            refused.append(RefusedLine(number, *result))
    return Checked(valid, refused)


def check_line(line: bytes, place: IngestProject) -> ValidLine | tuple[str, str]:
    """Return the record of a line, or the reason and detail of its rejection.

    A missing tenant or project is taken from the request; a different one is rejected. The event's time is not checked,
    because the log's time, which is not known yet, decides if an event is in the future.
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
            # Inserted at the front, so that the other bytes are written as sent. These names need no escaping.
            line = b'{"%s":"%s",%s' % (name.encode(), value.encode(), line[1:])
        elif event[name] != value:
            return f"other_{name}", f"{name} differs from the one in the path"
    result = Received.of_value(topic, line, _MODELS)
    if isinstance(result, Unreadable):
        return result.reason, result.detail
    return ValidLine(Message(topic, BY_NAME[topic].key(result.event), line), result.event.occurred_at)
