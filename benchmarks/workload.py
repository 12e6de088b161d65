"""Input of every run: recorded conversations, repeated as often as needed, with distinct ids."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from contracts.topics import BY_NAME, CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, IN_LOG_ORDER
from servicekit.log.records import Message
from standalone.one_process.replay import write_sample

Say = Callable[[str], None]
"""Printer of progress."""
SHARED = Path(__file__).parents[2] / "shared" / "samples" / "chat_events.jsonl"
"""Folder of real conversations, which are not in the repository; otherwise the packaged sample is used."""
IDS = ("eventId", "messageId", "conversationId", "turnId", "originalMessageId", "replyToMessageId")
_ALL = UUID("2b1f8c5a-6c1e-5f0a-9d57-1a6e0c9b7d11")


@dataclass(frozen=True, slots=True)
class Workload:
    """The first `events` lines of as many copies of `source` as necessary, without those whose message never arrives.

    The plain pipeline has no parking and would wait for such a message without end. Workloads with the same `seed`,
    `run` and source have the same bytes. Another run has other ids and the same people.
    """

    source: str
    events: int
    seed: int
    run: str

    def messages(self) -> list[Message]:
        """Return the records to publish, in order, with the partitions of the topic table."""
        lines = [json.loads(line) for line in Path(self.source).read_bytes().splitlines() if line.strip()]
        lines = [line for line in lines if line["topic"] in IN_LOG_ORDER]
        shift = _days_back(lines)
        written = {_name(line, line["messageId"]) for line in lines if line["topic"] != CHAT_REACTION.name}
        names = {None, *written}
        lines = [line for line in lines if _original(line["topic"], line) in names]
        messages: list[Message] = []
        copy = 0
        while len(messages) < self.events:
            space = uuid5(_ALL, json.dumps([self.seed, self.run, copy]))
            messages += [_message(_renamed(line, space), shift) for line in lines[: self.events - len(messages)]]
            copy += 1
        return messages


@dataclass(frozen=True, slots=True)
class Expected:
    """Counts expected after all events are handled: messages in the read model, and events parked for their message."""

    messages: int
    parked: int

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Expected:
        events = [(message.topic, json.loads(message.value or b"")) for message in messages]
        written = {_name(event, event["messageId"]) for topic, event in events if topic != CHAT_REACTION.name}
        names = {None, *written}
        waiting = sum(_original(topic, event) not in names for topic, event in events)
        return cls(len(written), waiting)


def _name(event: dict[str, Any], message_id: str) -> tuple[str, str]:
    return event["conversationId"], message_id


def _original(topic: str, event: dict[str, Any]) -> tuple[str, str] | None:
    """Return the message that a reply or reaction is about; None if it contains a copy of it, or is about none."""
    if topic == CHAT_MESSAGE.name or event.get("original"):
        return None
    return _name(event, event["originalMessageId" if topic == CHAT_REPLY.name else "messageId"])


def source_of(folder: Path) -> tuple[Path, str]:
    """Return the file to publish and its name: the shared recordings if present, otherwise the packaged sample."""
    if SHARED.exists():
        return SHARED, "shared samples"
    sample = write_sample(folder / "sample.jsonl", time.time_ns() // 1_000)
    return sample, "packaged sample (the shared samples are not here)"


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder for servers' data, with a short path that PostgreSQL's own user can enter."""
    with tempfile.TemporaryDirectory(prefix="af-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _renamed(event: dict[str, Any], space: UUID) -> dict[str, Any]:
    fresh: dict[str, Any] = {
        name: _fresh(space, value) if name in IDS and value else value for name, value in event.items()
    }
    if isinstance(fresh.get("original"), dict):
        fresh["original"] = _renamed(fresh["original"], space)
    return fresh


@lru_cache(maxsize=200_000)
def _fresh(space: UUID, value: str) -> str:
    return str(uuid5(space, value))


def _message(event: dict[str, Any], shift: timedelta) -> Message:
    if shift:
        moment = datetime.fromisoformat(event["occurredAt"]) - shift
        event["occurredAt"] = moment.isoformat().replace("+00:00", "Z")
    topic = BY_NAME[event["topic"]]
    key = f"{event['tenant']}/{event['project']}/{event['conversationId']}"
    return Message(topic.name, key, json.dumps(event, ensure_ascii=False).encode())


def _days_back(lines: Sequence[dict[str, Any]]) -> timedelta:
    """Return the whole days by which the events must move into the past, so that none is in the future."""
    newest = max(datetime.fromisoformat(line["occurredAt"]) for line in lines)
    ahead = newest - datetime.now(newest.tzinfo)
    return timedelta(days=ahead.days + 1) if ahead > timedelta(0) else timedelta(0)
