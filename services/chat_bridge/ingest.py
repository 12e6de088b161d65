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

from chat_bridge.model import EventRefusal
from contracts.base import Envelope
from contracts.erasure import ErasedAt, Person, author_of, is_erased
from contracts.log_time import future_fault
from contracts.topics import BY_NAME, INBOUND_TOPICS
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.log.handler import id_in
from servicekit.log.records import Message, Producer, Received

LINES_LIMIT = 50_000
"""Maximum number of lines in a request."""
_AT_ONCE = 200
_MODELS: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in INBOUND_TOPICS}
_BLANKS = b" \t\r"
REFUSED_LIMIT: Final = 1_000
"""Maximum number of rejected lines of a request that are stored and listed."""


ERASED: Final = ("erased", "the person was erased; events until five minutes after the erasure are not stored")


class ValidLine(NamedTuple):
    """The Kafka record of a valid line.

    Attributes:
        occurred_at: The event's time in microseconds.
        author: The person who caused the event. None for an agent.
    """

    message: Message
    event_id: str
    occurred_at: int
    author: Person | None


class Taken(NamedTuple):
    """Result of a request: the number of events that consumers accept, and the rejected lines by number, in order."""

    accepted: int
    refused: Mapping[int, EventRefusal]


class IngestProject(NamedTuple):
    """Tenant and project to which a request sends events."""

    tenant: str
    project: str


async def check(body: bytes, project: IngestProject) -> dict[int, ValidLine | EventRefusal]:
    """Validate the lines of a request body and return the results by the line's number, counted from 1.

    Args:
        body: One JSON object per line. Blank lines are skipped.
        project: The tenant and project of the request.

    Raises:
        RequestRefused: The body has more than LINES_LIMIT lines.
    """
    if body.count(b"\n") > LINES_LIMIT:
        raise RequestRefused(413, f"More than {LINES_LIMIT} lines.")
    results: dict[int, ValidLine | EventRefusal] = {}
    for number, text in enumerate(body.split(b"\n"), 1):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        if line := text.strip(_BLANKS):
            results[number] = check_line(line, project)
    return results


def check_line(line: bytes, project: IngestProject) -> ValidLine | EventRefusal:
    """Validate a line and convert it to a Kafka record.

    A missing tenant or project is taken from the request. A line with a different tenant or project is rejected. Future
    times are not checked, because the log's time is not known yet.
    """
    try:
        event: Any = from_json(line)
    except ValueError:
        return EventRefusal(*project, "", "", "invalid_json", "not one JSON value in UTF-8")
    if not isinstance(event, dict):
        return EventRefusal(*project, "", "", "invalid_json", "not a JSON object")
    topic, event_id = event.get("topic"), id_in(event, "eventId") or ""
    if not isinstance(topic, str) or topic not in _MODELS:
        return EventRefusal(*project, "", event_id, "unknown_topic", f"topic must be one of {', '.join(_MODELS)}")
    for name, value in (("project", project.project), ("tenant", project.tenant)):
        if name not in event:
            # Inserted at the front, so that the other bytes are written as sent. These names need no escaping.
            line = b'{"%s":"%s",%s' % (name.encode(), value.encode(), line[1:])
        elif event[name] != value:
            return EventRefusal(*project, topic, event_id, f"other_{name}", f"{name} differs from the one in the path")
    result = Received.of_value(topic, line, _MODELS)
    if not isinstance(result, Received):
        return EventRefusal(*project, topic, event_id, result.reason, result.detail)
    message = Message(topic, BY_NAME[topic].key(result.event), line)
    return ValidLine(message, event_id, result.event.occurred_at, author_of(result.event))


@dataclass(frozen=True, slots=True)
class Intake:
    """Writer of chat events to the log.

    Events dated too far in the future are written too, but reported as rejected, because consumers will reject them.

    Attributes:
        clock: Provides the time if the log does not timestamp its records. Consumers then run in this process.
        reference_time: Reference time in microseconds for the check for future event times. None means the log's time.
        erased_at: Function that returns the erasures of people.
        note_refused: Function that stores rejected events.
    """

    log: Producer
    clock: Clock
    reference_time: int | None
    erased_at: Callable[[Collection[Person]], Awaitable[ErasedAt]]
    note_refused: Callable[[Collection[EventRefusal]], Awaitable[None]]

    async def take(self, project: IngestProject, body: bytes) -> Taken:
        """Write a request's valid lines to the log, and store the reasons of the first REFUSED_LIMIT rejected lines.

        Returns after the log has acknowledged the lines.

        Raises:
            RequestRefused: The body has more than LINES_LIMIT lines.
            LogFull: The log has no room for the lines.
            Unavailable: The log or the database does not respond.
        """
        results = await check(body, project)
        valid = {number: line for number, line in results.items() if isinstance(line, ValidLine)}
        erased = await self._erased(project, valid)
        lines = {number: line for number, line in valid.items() if number not in erased}
        future = await self._write(project, lines)
        refused = erased | {number: line for number, line in results.items() if isinstance(line, EventRefusal)}
        await self.note_refused([refusal for _, refusal in sorted(refused.items())[:REFUSED_LIMIT]])
        return Taken(len(lines) - len(future), dict(sorted((refused | future).items())))

    async def drop(self, project: IngestProject, source: str, reasons: Sequence[str]) -> None:
        """Store the reasons why a source derived no chat event from a payload. Equal reasons share a row."""
        await self.note_refused([EventRefusal(*project, "", "", reason, source) for reason in reasons])

    async def _erased(self, project: IngestProject, lines: Mapping[int, ValidLine]) -> dict[int, EventRefusal]:
        """Return the rejections of lines that an erasure of their author covers. Consumers would ignore them."""
        people = {line.author for line in lines.values() if line.author is not None}
        erased, now = await self.erased_at(people) if people else {}, self.clock.now()
        return {
            number: EventRefusal(*project, line.message.topic, line.event_id, *ERASED)
            for number, line in lines.items()
            if line.author is not None and is_erased(line.occurred_at, erased.get(line.author), now)
        }

    async def _write(self, project: IngestProject, lines: Mapping[int, ValidLine]) -> dict[int, EventRefusal]:
        """Write lines to the log, and return the rejections of those that consumers will reject as future events."""
        written = await self.log.send([line.message for line in lines.values()]) if lines else []
        return {
            number: EventRefusal(*project, line.message.topic, line.event_id, *fault)
            for (number, line), record in zip(lines.items(), written, strict=True)
            if (fault := future_fault(line.occurred_at, self._time_of(record.log_time)))
        }

    def _time_of(self, log_time: int | None) -> int:
        """Return the reference time for the check for future event times, which is the same in consumers.

        The result is in microseconds. `log_time` is the time at which the event was written to the log, or None if the
        log has no timestamps.
        """
        if self.reference_time is not None:
            return self.reference_time
        return self.clock.now() if log_time is None else log_time
