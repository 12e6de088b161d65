"""Reads the whole log from its beginning without a consumer group."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from contracts.instants import parse_instant
from contracts.topics import FEEDBACK_CREATED, TOPICS
from proofs.chaos.ledger import digest
from proofs.oracle import Key, Shown
from servicekit.log.cluster import Bootstrap, client_options


@asynccontextmanager
async def reader(bootstrap: Bootstrap) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **client_options(bootstrap), enable_auto_commit=False, auto_offset_reset="earliest", group_id=None,
        fetch_max_bytes=16 * 1024 * 1024,
    )  # fmt: skip
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def records_of(bootstrap: Bootstrap, topic: str) -> list[ConsumerRecord]:
    """Return every record of a topic, in order within each partition."""
    async with reader(bootstrap) as consumer:
        numbers = consumer.partitions_for_topic(topic) or await _partitions(consumer, topic)
        partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        await consumer.seek_to_beginning(*partitions)
        found: list[ConsumerRecord] = []
        while any([await consumer.position(one) < ends[one] for one in partitions]):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                found.extend(batch)
    return found


async def _partitions(consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    await consumer._client._wait_on_metadata(topic)
    found: set[int] = consumer.partitions_for_topic(topic)
    return found


@dataclass(frozen=True, slots=True)
class Announced:
    """Compared fields of one record of `feedback.created`."""

    key: Key
    feedback_id: UUID
    event_id: str
    revision: int
    shown: Shown


async def announcements(bootstrap: str) -> list[Announced]:
    """Return all announcements that the log still has, in order within each feedback record."""
    records = await records_of(bootstrap, FEEDBACK_CREATED.name)
    return [announced(json.loads(record.value)) for record in records if record.value is not None]


def announced(event: dict[str, Any]) -> Announced:
    agent = event["agentId"] if event["source"] == "chat" else ""
    names = ("tenant", "project", "conversationId", "source", "userId")
    key = Key(*[*(event[name] for name in names), agent, event["sourceId"]])
    live = event["change"] != "cleared"
    at = parse_instant(event["occurredAt"])
    shown = Shown(event["feedbackType"], live, event["reaction"], event["value"], at, event["turnId"])
    return Announced(key, UUID(event["feedbackId"]), event["eventId"], event["revision"], shown)


@dataclass(frozen=True, slots=True)
class Letter:
    coordinates: tuple[str, int, int]
    reason: str
    sha256: str
    written_by: str = ""
    """The service that wrote the letter, and the class of its error."""


async def letters(bootstrap: str) -> list[Letter]:
    """Return every dead letter."""
    dead_letters = []
    for topic in TOPICS:
        for record in await records_of(bootstrap, topic.dead_letters):
            headers = {name: value.decode("ascii", "replace") for name, value in record.headers if value is not None}
            written_by = f"{headers['service']}, {headers['error-class']}"
            sha256 = headers.get("sha256") or digest(record.value)
            for offset in _offsets(headers.get("offsets", headers["offset"])):
                coordinates = headers["topic"], int(headers["partition"]), offset
                dead_letters.append(Letter(coordinates, headers["reason"], sha256, written_by))
    return dead_letters


def _offsets(ranges: str) -> Iterator[int]:
    """Yield the offsets of the equal records that a dead letter represents, from `3-7,9`."""
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)
