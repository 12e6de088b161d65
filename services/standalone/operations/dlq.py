"""Reading, description and replay of dead letters."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from aiokafka import ConsumerRecord

from contracts.headers import CAUSE, LOG_TIME, TRACEPARENT, header
from contracts.instants import format_instant
from contracts.topics import BY_NAME, TOPICS
from servicekit.log.cluster import Bootstrap
from servicekit.log.reader import records_of
from servicekit.log.records import Coordinates, Message, Producer, RefusedBatch
from servicekit.log.settings import MESSAGE_LIMIT
from standalone.terminal import say

REPLAY_BATCH = 200
_KEPT = {CAUSE: CAUSE, TRACEPARENT: TRACEPARENT, "timestamp": LOG_TIME}
"""Headers of a dead letter that are kept for its replay, with their original names.

The other headers describe the dead letter itself.
"""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter. Times are in microseconds.

    Attributes:
        position: Log position of the dead letter.
        topic: Original topic of the record.
        origin: Log position of the original record.
        value: Bytes of the original record, or None if it was too large to keep or had no value.
    """

    position: Coordinates
    written_at: int
    topic: str
    origin: str
    reason: str
    error_class: str
    detail: str
    service: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    @property
    def whole(self) -> bool:
        return self.value is not None


@dataclass(frozen=True, slots=True)
class Filter:
    """Filter for dead letters. A field that is None matches every dead letter.

    `topic` is the name of either the original topic or the dead-letter topic.
    """

    reason: str | None = None
    topic: str | None = None
    since: int | None = None
    until: int | None = None

    def admits(self, letter: Letter) -> bool:
        return (
            self.reason in (None, letter.reason)
            and self.topic in (None, letter.topic, letter.position.topic)
            and (self.since is None or letter.written_at >= self.since)
            and (self.until is None or letter.written_at < self.until)
        )


def letter_of(record: ConsumerRecord) -> Letter:
    """Parse a record of a dead-letter topic. Missing headers become "unknown" or "?"."""
    marks = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
    topic = marks.get("topic") or record.topic.removesuffix(".dlq")
    return Letter(
        Coordinates(record.topic, record.partition, record.offset),
        record.timestamp * 1_000,
        topic,
        f"{topic}:{marks.get('partition', '?')}:{marks.get('offset', '?')}",
        marks.get("reason", "unknown"),
        marks.get("error-class", "unknown"),
        marks.get("detail", ""),
        marks.get("service", "unknown"),
        record.key,
        None if isinstance(record.value, RefusedBatch) else record.value,
        tuple(record.headers),
    )


def message_again(letter: Letter) -> Message:
    """Return the record to replay, with the bytes and the key of the original record.

    The headers of the returned record contain the cause, the trace and the first log time from the dead letter.
    """
    key = None if letter.key is None else letter.key.decode("utf-8", "replace")
    kept = [(_KEPT[name], value) for name, value in letter.headers if name in _KEPT and value is not None]
    return Message(letter.topic, key, letter.value, kept)


def facts_of(letter: Letter) -> dict[str, Any]:
    """Return the metadata of a dead letter, without its content."""
    return {
        "letter": str(letter.position),
        "written_at": format_instant(letter.written_at),
        "topic": letter.topic,
        "record": letter.origin,
        "reason": letter.reason,
        "error_class": letter.error_class,
        "detail": letter.detail,
        "service": letter.service,
        "bytes": None if letter.value is None else len(letter.value),
        "records": _count(letter),
    }


def _count(letter: Letter) -> int:
    """Return the number of rejected records that this dead letter represents."""
    named = header(letter.headers, "count") or ""
    return int(named) if named.isdecimal() and len(named) < 10 else 1


async def letters(bootstrap: Bootstrap, wanted: Filter) -> AsyncIterator[Letter]:
    """Yield the dead letters that match `wanted`, topic by topic and in order within a partition."""
    topics = [topic.dead_letters for topic in TOPICS if wanted.topic in (None, topic.name, topic.dead_letters)]
    async for records in records_of(bootstrap, topics, say=say):
        for record in records:
            letter = letter_of(record)
            if wanted.admits(letter):
                yield letter


async def replay(
    dead_letters: AsyncIterable[Letter], producer: Producer, progress: Callable[[int], None] = lambda _: None
) -> dict[str, int]:
    """Send dead letters to their original topics again, skipping duplicates.

    It is safe to repeat this, because every handler recognises events that it has already processed. A record that
    fails again becomes a dead letter again.

    Args:
        progress: Called with 1 for each dead letter read.

    Returns:
        Counts by name: `sent`, `repeats` (duplicates of sent letters), `empty` (without a record, or for an unknown
            topic), `too_large` (larger than the topic allows, which only happens to records from other programs), and
            `letters`, their total.
    """
    seen: set[bytes] = set()
    batch: list[Message] = []
    count = sent = repeats = empty = too_large = 0
    async for letter in dead_letters:
        count += 1
        content = _digest(letter)
        if not letter.whole or letter.topic not in BY_NAME:
            empty += 1
        elif content in seen:
            repeats += 1
        elif (again := message_again(letter)).size > MESSAGE_LIMIT:
            too_large += 1
        else:
            seen.add(content)
            batch.append(again)
        if len(batch) >= REPLAY_BATCH:
            sent += len(await producer.send(batch))
            batch = []
        progress(1)
    sent += len(await producer.send(batch))
    return {"letters": count, "sent": sent, "repeats": repeats, "empty": empty, "too_large": too_large}


def _digest(letter: Letter) -> bytes:
    """Return a digest of the topic, key and value, which is the same for duplicates."""
    key = None if letter.key is None else len(letter.key)
    head = f"{letter.topic} {key} ".encode()
    return sha256(b"".join((head, letter.key or b"", letter.value or b""))).digest()
