"""Polling by a subscriber: it requests records as soon as it is free."""

from __future__ import annotations

from itertools import chain

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from faststream.kafka.subscriber.usecase import BatchSubscriber

FULL = 500
"""Minimum number of records in a batch behind which more are expected."""


def poll_without_pauses() -> None:
    """Make every subscriber of this process use `poll`. May be called again.

    FastStream's own poll sleeps after an empty poll, while new records wait. It has no extension point for this, so its
    private name is replaced; a test fails if it no longer exists.
    """
    setattr(BatchSubscriber, "get_msg", poll)  # noqa: B010 # mypy refuses an assignment to a method


async def poll(subscriber: BatchSubscriber, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
    """Return the available records, otherwise the first that arrive within the subscriber's timeout; may return none.

    The next fetch begins when these records are processed. An earlier fetch would return the first record that arrives
    meanwhile, and the records behind it would wait for two batches. Only behind a full batch, or if records wait for
    others, the next one is fetched concurrently.
    """
    consumer.resume(*consumer.paused())
    found = await consumer.getmany(timeout_ms=subscriber.batch_timeout_ms, max_records=subscriber.max_records)
    records = tuple(chain.from_iterable(found.values()))
    if 0 < len(records) < FULL and not consumer._fetcher.is_holding:
        consumer.pause(*consumer.assignment())
    return records
