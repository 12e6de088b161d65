"""Validation of request lines, and their conversion to Kafka records.

The lines pass the same checks as in the consumer, except the check for future times, because the log's time is not
known yet. The validation of a long request pauses regularly, so that the process can serve other requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json

from contracts.base import Envelope
from contracts.topics import BY_NAME, INBOUND_TOPICS
from servicekit import Message, Received

LINES_LIMIT = 50_000
"""Maximum number of lines in a request."""
_AT_ONCE = 200
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in INBOUND_TOPICS}
_BLANKS = b" \t\r"


class TooManyLines(Exception):
    """Raised if a request has more than LINES_LIMIT lines."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A rejected line of a request.

    Attributes:
        line: The line's number, from 1.
        reason: The reason's short name.
        detail: The reason in words, without the line's content.
    """

    line: int
    reason: str
    detail: str


class ValidLine(NamedTuple):
    """The Kafka record of a valid line.

    Attributes:
        occurred_at: The event's time in microseconds.
        number: The line's number, from 1.
    """

    message: Message
    occurred_at: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    valid: Sequence[ValidLine]
    refused: Sequence[RefusedLine]


@dataclass(frozen=True, slots=True)
class IngestProject:
    """Tenant and project to which a request sends events."""

    tenant: str
    project: str


async def check(body: bytes, place: IngestProject) -> Checked:
    """Split a request body into valid and rejected lines.

    Args:
        body: One JSON object per line. Blank lines are skipped.
        place: The tenant and project of the request.

    Raises:
        TooManyLines: The body has more than LINES_LIMIT lines.
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
    """Validate a line and convert it to a Kafka record.

    A missing tenant or project is taken from the request. A line with a different tenant or project is rejected. Future
    times are not checked, because the log's time is not known yet.

    Returns:
        The valid line, or the reason and detail of its rejection.
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
    if not isinstance(result, Received):
        return result.reason, result.detail
    return ValidLine(Message(topic, BY_NAME[topic].key(result.event), line), result.event.occurred_at)
