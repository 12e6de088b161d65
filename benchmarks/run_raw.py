"""Throughput of the parts alone with the same bytes: writing to the log, reading from the log, the database."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer
from benchmarks.log import log_with
from contracts.chat import ChatMessageIngested
from contracts.ids import partition_of
from reporting.parts import SCHEMA
from reporting.read_models.projection import MessageRow, message_row
from servicekit.db.pools import open_pool
from servicekit.log.messages import Message

PARTITIONS = 6
BATCH = 500
ROWS = 1_000
MEMORY_BYTES = 20 * 1024 * 1024
"""Bytes that the in-memory broker can keep in six partitions, with a reserve for unequal partitions."""


async def measure(job: Job) -> dict[str, Any]:
    messages = job.workload.messages()
    kept = messages if job.bootstrap is not None else _first(messages, MEMORY_BYTES)
    topic = f"raw.{job.workload.run}"
    async with log_with(job, {topic: PARTITIONS}) as bootstrap:
        produced = await _produce(bootstrap, topic, kept)
        consumed = await _consume(bootstrap, topic, len(kept))
    upserted = await _upsert(job, messages)
    return {"produce": produced, "consume": consumed, "upsert": upserted}


async def _produce(bootstrap: str, topic: str, messages: Sequence[Message]) -> dict[str, Any]:
    """Write 500 records per call, idempotently and acknowledged by all replicas, like the pipeline."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, max_batch_size=512 * 1024
    )
    await producer.start()
    records = [(partition_of(m.key or "", PARTITIONS), (m.key or "").encode(), m.value) for m in messages]
    effort = Effort({})
    for start in range(0, len(records), BATCH):
        lanes: defaultdict[int, Any] = defaultdict(producer.create_batch)
        for partition, key, value in records[start : start + BATCH]:
            assert lanes[partition].append(key=key, value=value, timestamp=None) is not None
        sent = [await producer.send_batch(batch, topic, partition=n) for n, batch in lanes.items()]
        await asyncio.gather(*sent)
    measured = effort.until_now(len(records))
    await producer.stop()
    return measured


async def _consume(bootstrap: str, topic: str, count: int) -> dict[str, Any]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    partitions = [TopicPartition(topic, n) for n in range(PARTITIONS)]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    effort = Effort({})
    seen = 0
    while seen < count:
        found = await consumer.getmany(timeout_ms=1_000, max_records=1_000)
        seen += sum(len(records) for records in found.values())
    measured = effort.until_now(count)
    await consumer.stop()
    return measured


async def _upsert(job: Job, messages: Sequence[Message]) -> dict[str, Any]:
    """Upsert the messages into a table with the read model's columns and indexes, one statement per batch."""
    events = [
        ChatMessageIngested.model_validate_json(m.value or b"") for m in messages if m.topic == "chat.message.ingested"
    ]
    batches = [_columns(events[start : start + ROWS]) for start in range(0, len(events), ROWS)]
    pool = await open_pool(job.database_url, "reporting", SCHEMA, plan="indexed")
    try:
        types = await _types(pool)
        named = ", ".join(f"${at}::{types[name]}[]" for at, name in enumerate(MessageRow._fields, 1))
        statement = f"""insert into bench_messages ({", ".join(MessageRow._fields)})
            select * from unnest({named}) on conflict (tenant, project, conversation_id, message_id) do update
            set content = excluded.content, occurred_at = excluded.occurred_at"""
        async with pool.acquire() as connection:
            effort = Effort({"postgres": [job.postgres]})
            for columns in batches:
                await connection.execute(statement, *columns)
            return effort.until_now(len(events))
    finally:
        await pool.close()


async def _types(pool: asyncpg.Pool) -> dict[str, str]:
    await pool.execute("create table bench_messages (like messages including all)")
    rows = await pool.fetch(
        "select column_name, data_type from information_schema.columns where table_name = 'bench_messages'"
    )
    return {row["column_name"]: row["data_type"] for row in rows}


def _columns(events: Sequence[ChatMessageIngested]) -> list[tuple[object, ...]]:
    rows = {row.key: row for row in map(message_row, events)}
    return list(zip(*rows.values(), strict=True))


def _first(messages: Sequence[Message], limit: int) -> Sequence[Message]:
    size = 0
    for count, message in enumerate(messages):
        size += len(message.value or b"") + 100
        if size > limit:
            return messages[:count]
    return messages


if __name__ == "__main__":
    answer(measure)
