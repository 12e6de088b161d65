"""Polling without pauses: a subscriber requests the next records as soon as it has processed the last ones."""

from __future__ import annotations

from itertools import chain

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from faststream.kafka.subscriber.usecase import BatchSubscriber

FULL = 500
"""Number of records from which a batch counts as full. After a full batch, more records are probably available."""


def poll_without_pauses() -> None:
    """Make every subscriber of this process use `poll`. May be called again.

    FastStream's own poll sleeps after an empty poll, even if records have arrived. It has no extension point for this,
    so its private name is replaced; a test fails if it no longer exists.
    """
    setattr(BatchSubscriber, "get_msg", poll)  # noqa: B010 # mypy refuses an assignment to a method


async def poll(subscriber: BatchSubscriber, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
    """Return the available records; if there are none, wait for the subscriber's timeout. May return no records.

    After a full batch, or if fetched records are held, the next batch is fetched while these records are processed.
    Otherwise the next fetch begins after they are processed. An earlier fetch would return with the first record that
    arrives meanwhile, and all later records would wait for one more fetch.
    """
    consumer.resume(*consumer.paused())
    found = await consumer.getmany(timeout_ms=subscriber.batch_timeout_ms, max_records=subscriber.max_records)
    records = tuple(chain.from_iterable(found.values()))
    if 0 < len(records) < FULL and not consumer._fetcher.is_holding:
        consumer.pause(*consumer.assignment())
    return records
