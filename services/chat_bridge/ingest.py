"""Intake of chat events for all event routes: valid events go to the log, rejected events to a table.

The lines of a request pass the same checks as in the consumer. Future times are checked after the write, because the
log's time is not known before. The validation of a long request pauses regularly, so that the process can serve other
requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from chat_bridge.refused import EventRefusal, refusal_of_line
from contracts.base import Envelope
from contracts.erasure import ErasedAt, Person, author_of, is_erased
from contracts.log_time import future_fault
from contracts.topics import BY_NAME, INBOUND_TOPICS
from servicekit.clock import Clock
from servicekit.log.records import Message, Producer, Received

LINES_LIMIT = 50_000
"""Maximum number of lines in a request."""
_AT_ONCE = 200
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in INBOUND_TOPICS}
_BLANKS = b" \t\r"
REFUSED_LIMIT: Final = 1_000
"""Maximum number of rejected lines of a request that are stored and listed."""
ERASED: Final = ("erased", "the person was erased; events until five minutes after the erasure are not stored")


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
        author: The person who caused the event. None for an agent.
        number: The line's number, from 1.
    """

    message: Message
    occurred_at: int
    author: Person | None
    number: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    valid: Sequence[ValidLine]
    refused: Sequence[RefusedLine]


class Taken(NamedTuple):
    """Result of a request: the number of events that consumers accept, and the rejected lines in order."""

    accepted: int
    refused: Sequence[RefusedLine]


@dataclass(frozen=True, slots=True)
class IngestProject:
    """Tenant and project to which a request sends events."""

    tenant: str
    project: str


async def check(body: bytes, project: IngestProject) -> Checked:
    """Split a request body into valid and rejected lines.

    Args:
        body: One JSON object per line. Blank lines are skipped.
        project: The tenant and project of the request.

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
        result = check_line(line, project)
        if isinstance(result, ValidLine):
            valid.append(result._replace(number=number))
        else:
            refused.append(RefusedLine(number, *result))
    return Checked(valid, refused)


def check_line(line: bytes, project: IngestProject) -> ValidLine | tuple[str, str]:
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
    for name, value in (("project", project.project), ("tenant", project.tenant)):
        if name not in event:
            # Inserted at the front, so that the other bytes are written as sent. These names need no escaping.
            line = b'{"%s":"%s",%s' % (name.encode(), value.encode(), line[1:])
        elif event[name] != value:
            return f"other_{name}", f"{name} differs from the one in the path"
    result = Received.of_value(topic, line, _MODELS)
    if not isinstance(result, Received):
        return result.reason, result.detail
    message = Message(topic, BY_NAME[topic].key(result.event), line)
    return ValidLine(message, result.event.occurred_at, author_of(result.event))


@dataclass(frozen=True, slots=True)
class Intake:
    """Writer of chat events to the log.

    Events dated too far in the future are written too, but reported as rejected, because consumers will reject them.

    Attributes:
        clock: Provides the time if the log does not timestamp its records. Consumers then run in this process.
        judge_at: Reference time in microseconds for the check for future event times. None means the log's time.
        erased_at: Function that returns the erasures of people.
        note_refused: Function that stores rejected events.
    """

    log: Producer
    clock: Clock
    judge_at: int | None
    erased_at: Callable[[Collection[Person]], Awaitable[ErasedAt]]
    note_refused: Callable[[Collection[EventRefusal]], Awaitable[None]]

    async def take(self, project: IngestProject, body: bytes) -> Taken:
        """Write the valid lines of a request body to the log, and store the first REFUSED_LIMIT rejected lines.

        Returns after the log has acknowledged the lines.

        Raises:
            TooManyLines: The body has more than LINES_LIMIT lines.
            LogFull: The log has no room for the lines.
            Unavailable: The log or the database does not respond.
        """
        checked = await check(body, project)
        erased = await self._erased(checked.valid)
        erased_numbers = {line.line for line in erased}
        lines = [line for line in checked.valid if line.number not in erased_numbers]
        future = await self._write(lines)
        refused = sorted([*checked.refused, *erased], key=_number)
        if refused:
            texts = body.split(b"\n")
            await self.note_refused(
                [
                    refusal_of_line(project.tenant, project.project, texts[line.line - 1], line.reason, line.detail)
                    for line in refused[:REFUSED_LIMIT]
                ]
            )
        return Taken(len(lines) - len(future), sorted([*refused, *future], key=_number))

    async def drop(self, project: IngestProject, source: str, reasons: Sequence[str]) -> None:
        """Store the reasons for which a source made no chat events from a payload. Equal reasons share a row."""
        if reasons:
            await self.note_refused(
                [EventRefusal(project.tenant, project.project, "", "", source, reason) for reason in reasons]
            )

    async def _erased(self, lines: Sequence[ValidLine]) -> list[RefusedLine]:
        """Return the lines that an erasure of their author covers. Consumers would ignore them."""
        people = {line.author for line in lines if line.author is not None}
        erased, now = await self.erased_at(people) if people else {}, self.clock.now()
        return [
            RefusedLine(line.number, *ERASED)
            for line in lines
            if line.author is not None and is_erased(line.occurred_at, erased.get(line.author), now)
        ]

    async def _write(self, lines: Sequence[ValidLine]) -> list[RefusedLine]:
        """Write lines to the log, and return those that consumers will reject because of their future times."""
        written = await self.log.send([line.message for line in lines]) if lines else []
        return [
            RefusedLine(line.number, *fault)
            for line, record in zip(lines, written, strict=True)
            if (fault := future_fault(line.occurred_at, self._time_of(record.log_time)))
        ]

    def _time_of(self, log_time: int | None) -> int:
        """Return the reference time for the check for future event times, which is the same in consumers.

        The result is in microseconds. `log_time` is the time at which the event was written to the log, or None if the
        log has no timestamps.
        """
        if self.judge_at is not None:
            return self.judge_at
        return self.clock.now() if log_time is None else log_time


def _number(line: RefusedLine) -> int:
    return line.line
