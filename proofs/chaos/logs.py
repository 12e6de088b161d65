"""Reads the whole log from its beginning without a consumer group, and forces its compaction."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

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
        records: list[ConsumerRecord] = []
        while any([await consumer.position(one) < ends[one] for one in partitions]):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                records.extend(batch)
    return records


async def _partitions(consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    await consumer._client._wait_on_metadata(topic)
    partitions: set[int] = consumer.partitions_for_topic(topic)
    return partitions


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
    occurred_at = parse_instant(event["occurredAt"])
    shown = Shown(event["feedbackType"], live, event["reaction"], event["value"], occurred_at, event["turnId"])
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


_AT_ONCE = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "2600000",
}


async def compact(bootstrap: Bootstrap, seconds: float = 60.0) -> tuple[int, int]:
    """Return the numbers of records of `feedback.created` before and after a compaction, which takes at most `seconds`.

    They are equal if nothing was compacted.
    """
    name = FEEDBACK_CREATED.name
    before = await records_of(bootstrap, name)
    admin = AIOKafkaAdminClient(**client_options(bootstrap))
    await admin.start()
    try:
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=_AT_ONCE)])
    finally:
        await admin.close()
    await asyncio.sleep(1.5)
    written = len(before) + await _say_again(bootstrap, before)
    deadline = time.monotonic() + seconds
    count = written
    while time.monotonic() < deadline:
        await asyncio.sleep(2)
        now = await records_of(bootstrap, name)
        count = len(now)
        kept = {(record.partition, record.key) for record in now}
        if count <= len(kept) + len({partition for partition, _ in kept}):
            break
    return written, count


async def _say_again(bootstrap: Bootstrap, records: list[ConsumerRecord]) -> int:
    """Write the last record of each partition again, because only a write makes the log close the open segment.

    Returns:
        The number of written records.
    """
    last = {record.partition: record for record in records}
    producer = AIOKafkaProducer(**client_options(bootstrap), enable_idempotence=True)
    await producer.start()
    try:
        for record in last.values():
            await producer.send_and_wait(
                record.topic, record.value, key=record.key, partition=record.partition, headers=list(record.headers)
            )
    finally:
        await producer.stop()
    return len(last)
