"""Forces the compaction that a log does within a day, so that a new consumer's state can be compared."""

from __future__ import annotations

import asyncio
import time

from aiokafka import AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from contracts.topics import FEEDBACK_CREATED
from proofs.chaos.logs import records_of
from servicekit.log.cluster import Bootstrap, client_options

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
