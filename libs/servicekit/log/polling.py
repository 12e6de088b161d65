"""Polling by a subscriber: it requests records as soon as it is free."""

from __future__ import annotations

from itertools import chain

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from faststream.kafka.subscriber.usecase import BatchSubscriber

FULL = 500
"""Records of a batch from which on more are taken to lie behind it."""


def poll_without_pauses() -> None:
    """Make every subscriber of this process poll by `poll`. May be called again.

    FastStream's own poll sleeps after each look that found nothing, and what comes meanwhile lies there. It offers no
    place for this, so its own name is replaced; a test fails where it no longer has it.
    """
    setattr(BatchSubscriber, "get_msg", poll)  # noqa: B010 # mypy refuses an assignment to a method


async def poll(subscriber: BatchSubscriber, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
    """Return the records that are there, else the first that come within the subscriber's time; may return none.

    The log is asked again when these are worked off. Asked at once, it would answer with the first record that comes
    meanwhile, and what comes behind that one would wait for two batches. Only behind a full batch is the next one
    fetched beside the work.
    """
    consumer.resume(*consumer.paused())
    found = await consumer.getmany(timeout_ms=subscriber.batch_timeout_ms, max_records=subscriber.max_records)
    records = tuple(chain.from_iterable(found.values()))
    if 0 < len(records) < FULL:
        consumer.pause(*consumer.assignment())
    return records
