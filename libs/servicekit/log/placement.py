"""Partitions of records by their keys, and detection of topics that got partitions while they had records."""

from __future__ import annotations

from uuid import UUID

from aiokafka import AIOKafkaConsumer, TopicPartition

from contracts.ids import partition_of
from servicekit.log.cluster import Bootstrap, client_options

_WAIT_MS = 2_000
"""Time without records after which the sample is complete, in milliseconds."""
_SAMPLE_BYTES = 65_536
"""Size of the sample from each partition."""
_TOLERATED = 0.25
"""Accepted share of misplaced records, such as those of foreign programs. Added partitions misplace half or more."""


def is_misplaced(key: bytes | None, partition: int, count: int) -> bool | None:
    """Return True if a record with this key belongs to another of `count` partitions; None if the key is no UUID."""
    try:
        text = (key or b"").decode("ascii")
        UUID(text)
    except ValueError:
        return None
    return partition_of(text, count) != partition


async def has_misplaced_records(bootstrap: Bootstrap, topic: str, count: int) -> bool:
    """Return True if more than a few of the oldest records of `topic` are on partitions of another count."""
    options = {"enable_auto_commit": False, "max_partition_fetch_bytes": _SAMPLE_BYTES}
    consumer = AIOKafkaConsumer(**client_options(bootstrap), **options)
    async with consumer:
        lanes = [TopicPartition(topic, number) for number in range(count)]
        consumer.assign(lanes)
        begins, ends = await consumer.beginning_offsets(lanes), await consumer.end_offsets(lanes)
        unread = {lane for lane in lanes if begins[lane] < ends[lane]}
        if not unread:
            return False
        consumer.assign(list(unread))
        for lane in unread:
            consumer.seek(lane, begins[lane])
        verdicts: list[bool] = []
        while unread and (found := await consumer.getmany(*unread, timeout_ms=_WAIT_MS)):
            for lane, records in found.items():
                unread.discard(lane)
                judged = (is_misplaced(record.key, lane.partition, count) for record in records)
                verdicts += [verdict for verdict in judged if verdict is not None]
        return sum(verdicts) > _TOLERATED * len(verdicts)
