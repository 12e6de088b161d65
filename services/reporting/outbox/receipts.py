"""Queue of erasure receipts.

A receipt is sent only after the erased person's objects have been deleted from the object store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

import asyncpg

from contracts.feedback import FeedbackErasureConfirmed
from contracts.headers import derived_headers, trace_of
from contracts.topics import ERASURE_CONFIRMED
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.store import Deliveries
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.clock import Clock
from servicekit.log.records import Message, Producer


class HeldReceipts:
    """Producer that stores erasure receipts as deliveries without a receiver, instead of sending them."""

    def __init__(self, pool: asyncpg.Pool, producer: Producer, clock: Clock) -> None:
        self._deliveries = Deliveries(pool)
        self._producer = producer
        self._clock = clock

    async def send(self, messages: Sequence[Message]) -> Sequence[Never]:
        """Store receipts and commit. Returns no log positions, because nothing has been sent yet."""
        await self._deliveries.add([_delivery(message) for message in messages], self._clock.now())
        return ()

    async def release(self, connection: Connection, receipts: Sequence[asyncpg.Record]) -> None:
        """Send rows of `held_receipts` and delete them from the queue.

        After a crash, a receipt may be sent twice. Readers ignore duplicates.
        """
        messages = [
            Message.of(
                ERASURE_CONFIRMED,
                FeedbackErasureConfirmed.model_validate_json(row["event"]),
                derived_headers(traceparent=row["traceparent"]),
            )
            for row in receipts
        ]
        await self._producer.send(messages)
        await connection.execute(*SQL.delete_receipts(subjects=[row["subject"] for row in receipts]))


def _delivery(receipt: Message) -> OutboxMessage:
    """Return the delivery of a receipt. It names no person, so that no erasure deletes it."""
    event = FeedbackErasureConfirmed.model_validate_json(receipt.value or b"")
    return OutboxMessage(
        receiver="",
        subject=f"receipt/{event.event_id}",
        event_id=event.event_id,
        topic=receipt.topic,
        revision=0,
        tenant=event.tenant,
        user_id=None,
        occurred_at=event.occurred_at,
        event=event.model_dump_json(by_alias=True),
        traceparent=trace_of(receipt.headers),
    )
