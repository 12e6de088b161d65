"""Replay of event files, such as the sample: each line is published to the topic that it names.

Invalid events are published too. The services turn them into dead letters, which contain the reason.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from contracts.base import RECORD_LIMIT
from contracts.ids import conversation_key
from contracts.instants import format_instant, parse_instant
from contracts.sources import POST_PREFIX
from contracts.topics import EXPLICIT_RECEIVED, INBOUND_TOPICS, SESSION_CREATED
from servicekit.log.records import Coordinates, Message, Producer

BATCH = 500
KEY_LIMIT = 512
"""Maximum length of a record key in characters. Only events that are rejected anyway have a longer key."""
_TOPICS = frozenset(topic.name for topic in (*INBOUND_TOPICS, EXPLICIT_RECEIVED, SESSION_CREATED))
_SAMPLE: Final = Path(__file__).with_name("sample_events.jsonl")
"""Sample conversations of 30 days, written for this project, so that a demonstration needs no real people's data.

The file has events in order of arrival: those of chats, judgements over HTTP, and session ratings.
"""
_SAMPLE_END: Final = parse_instant("2026-01-31T12:00:00Z")
"""Time shortly after the last event of the sample."""
_TIMES: Final = ("occurredAt", "recordedAt")


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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, numbered from 1."""

    file: str
    number: int


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that every service rejects.

    `reason` is a sentence or a short name. `detail` names the field and the violated rule.
    """

    line: Line
    reason: str
    detail: str = ""

    def row(self) -> dict[str, object]:
        """Return the line's row for a summary and for the file of `--outcomes`."""
        detail = {"detail": self.detail} if self.detail else {}
        return {"file": self.line.file, "line": self.line.number, "fate": "bad", "reason": self.reason, **detail}


@dataclass
class ReplayResult:
    """Result of a replay. `places` maps each log position to the line that was published there."""

    lines: int = 0
    events: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)
    places: dict[str, Line] = field(default_factory=dict)
    seen: list[Line] = field(default_factory=list)


async def replay(
    files: Sequence[Path],
    producer: Producer,
    account: ReplayResult,
    *,
    keep_places: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Publish the lines of `files` in order.

    Args:
        account: Result, which is updated in the course of the replay.
        keep_places: True to record all lines and their log positions.
        progress: Called with the number of bytes read since its last call.
    """
    for file in files:
        batch: list[tuple[Line, Routed]] = []
        read = 0
        for number, text in lines_of(file):
            line = Line(str(file), number)
            account.lines += 1
            read += len(text) + 1
            if keep_places:
                account.seen.append(line)
            routed = route(text)
            if isinstance(routed, str):
                account.rejected.append(RejectedLine(line, routed))
                continue
            batch.append((line, routed))
            if len(batch) >= BATCH:
                await _publish(batch, producer, account, keep_places)
                batch = []
                progress(read)
                read = 0
        await _publish(batch, producer, account, keep_places)
        progress(read)


async def _publish(
    batch: Sequence[tuple[Line, Routed]], producer: Producer, account: ReplayResult, keep_places: bool
) -> None:
    written = await producer.send([Message(routed.topic, routed.key, routed.value) for _, routed in batch])
    account.events += len(written)
    if keep_places:
        for (line, _), record in zip(batch, written, strict=True):
            account.places[str(Coordinates(record.topic, record.partition, record.offset))] = line


def write_sample(path: Path, now: int) -> Path:
    """Write the sample's events to `path`, with times that end shortly before `now`, and return `path`.

    An existing file is kept, because events with other times would count as new versions of events that were already
    read.

    Args:
        now: Time in microseconds since 1970.

    Raises:
        OSError: The file cannot be written.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed only when complete, because an incomplete sample would be kept forever.
    unfinished = path.with_name(path.name + ".part")
    with _SAMPLE.open(encoding="utf-8") as events, unfinished.open("w", encoding="utf-8") as shifted:
        for line in events:
            shifted.write(_shifted(line, now - _SAMPLE_END))
    return unfinished.replace(path)


def _shifted(line: str, microseconds: int) -> str:
    event: dict[str, Any] = {"tenant": "demo", **json.loads(line)}
    if "conversationId" in event:  # a session rating belongs to no project
        event["project"] = "support"
    event |= {name: format_instant(parse_instant(event[name]) + microseconds) for name in _TIMES if name in event}
    return json.dumps(event, ensure_ascii=False) + "\n"
