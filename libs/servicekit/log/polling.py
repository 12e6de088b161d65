"""Polling without pauses: a subscriber requests new records as soon as it has processed the previous ones."""

from __future__ import annotations

from itertools import chain

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from faststream.kafka.subscriber.usecase import BatchSubscriber

FULL = 500
"""Number of records from which a batch counts as full. After a full batch, more records are probably available."""


def poll_without_pauses() -> None:
    """Make every subscriber in this process use `poll`.

    FastStream's own poll sleeps after an empty result, even if records have arrived since. FastStream has no extension
    point for this, so a private name is patched. A test fails if it no longer exists. Calling this function again has
    no effect.
    """
    setattr(BatchSubscriber, "get_msg", poll)  # noqa: B010 # mypy refuses an assignment to a method


async def poll(subscriber: BatchSubscriber, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
    """Return the available records. If there are none, wait for some, up to the subscriber's timeout.

    After a full batch, or while fetched records are held, the next batch is fetched in parallel with the processing of
    this one. Otherwise the next fetch begins only when this batch has been processed, and returns all records that have
    arrived meanwhile. An earlier fetch would return only the first of them.
    """
    consumer.resume(*consumer.paused())
    found = await consumer.getmany(timeout_ms=subscriber.batch_timeout_ms, max_records=subscriber.max_records)
    records = tuple(chain.from_iterable(found.values()))
    if 0 < len(records) < FULL and not consumer._fetcher.is_holding:
        consumer.pause(*consumer.assignment())
    return records
