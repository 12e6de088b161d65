"""Reader for all records of some topics, without a consumer group and without commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.fetch_limits import FetchFailure, bound_fetching
from servicekit.log.topics import Say, wait_for_broker

SILENT_MS = 15_000
"""Timeout for the next records before the log's end is reached, in milliseconds. After it, the read fails."""


async def records_of(
    bootstrap: Bootstrap,
    topics: Sequence[str],
    after: Mapping[TopicPartition, int] | None = None,
    say: Say = lambda _: None,
) -> AsyncIterator[Sequence[ConsumerRecord]]:
    """Yield the records of `topics` up to the current end of the log.

    Topics that do not exist are skipped. A batch that is too large to decompress becomes a single record with a
    RefusedBatch as its value.

    Args:
        after: The offset to begin at, by partition. Other partitions are read from the beginning.

    Raises:
        StartError: If the log stops responding.
    """
    lanes = await _lanes_of(bootstrap, topics, say)
    if not lanes:
        return
    bound_fetching()
    consumer = AIOKafkaConsumer(**client_options(bootstrap), auto_offset_reset="earliest", enable_auto_commit=False)
    async with consumer:
        consumer.assign(lanes)
        ends = await consumer.end_offsets(lanes)
        begins = await consumer.beginning_offsets(lanes)
        for lane in lanes:
            consumer.seek(lane, max(begins[lane], (after or {}).get(lane, 0)))
        while open_lanes := [lane for lane in lanes if await consumer.position(lane) < ends[lane]]:
            consumer.pause(*(lane for lane in lanes if lane not in open_lanes and lane not in consumer.paused()))
            batches = await consumer.getmany(timeout_ms=SILENT_MS, max_records=2_000)
            if not batches:
                raise StartError(f"The log at {bootstrap} stopped returning records of {open_lanes[0].topic}.")
            for lane, records in batches.items():
                if isinstance(records[-1].value, FetchFailure):
                    raise StartError(f"The log at {bootstrap} returned damaged records of {lane.topic}.")
                yield [record for record in records if record.offset < ends[lane]]


async def _lanes_of(bootstrap: Bootstrap, topics: Sequence[str], say: Say) -> list[TopicPartition]:
    admin = await wait_for_broker(bootstrap, say)
    try:
        return [
            TopicPartition(described["topic"], partition["partition"])
            for described in await admin.describe_topics(list(topics))
            if described["error_code"] == 0
            for partition in sorted(described["partitions"], key=lambda partition: partition["partition"])
        ]
    finally:
        await admin.close()
