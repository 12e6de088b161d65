"""Event handlers that turn events of the log into webhook deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from contracts.feedback import (
    FeedbackCreated,
    FeedbackErased,
    FeedbackErasureRequested,
    FeedbackSessionCreated,
)
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.store import Deliveries
from servicekit.clock import Clock
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

UNWANTED = Outcome.ignored("no_webhook")


class WebhookHandler(Handler, tombstones=True):
    """Handler of the consumer group `webhooks`, which stores deliveries but does not send them.

    It is wrapped in an ErasingHandler, except for erasure requests: receivers get them, because they may have stored
    the person's texts.
    """

    def __init__(self, endpoints: Sequence[WebhookEndpoint], deliveries: Deliveries, clock: Clock) -> None:
        self._endpoints = endpoints
        self._deliveries = deliveries
        self._clock = clock

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        groups = [list(deliveries_of(received, self._endpoints)) for received in batch]
        newest: dict[tuple[str, str], OutboxMessage] = {}
        for delivery in (delivery for group in groups for delivery in group):
            current = newest.get((delivery.receiver, delivery.subject))
            if current is None or current.revision < delivery.revision:
                newest[delivery.receiver, delivery.subject] = delivery
        await self._deliveries.add(newest.values(), self._clock.now())
        erased = [received.event for received in batch if isinstance(received.event, FeedbackErased)]
        if erased:
            await self._deliveries.drop([(str(received.feedback_id), received.revision) for received in erased])
        return [
            Outcome.STORED if isinstance(received.event, FeedbackErased) or group else UNWANTED
            for received, group in zip(batch, groups, strict=True)
        ]


def deliveries_of(received: Received[Any], endpoints: Sequence[WebhookEndpoint]) -> Iterator[OutboxMessage]:
    """Yield a delivery for each endpoint that is subscribed to the event."""
    event = received.event
    project: str | None = None
    user: str | None = None
    match event:
        case FeedbackCreated():
            subject, revision, project, user = str(event.feedback_id), event.revision, event.project, event.user_id
        case FeedbackSessionCreated():
            subject, revision, user = str(event.id), 0, event.user_id_or_null
        case FeedbackErasureRequested():
            # Omit the user id: otherwise the erasure would delete the delivery of its own request.
            subject, revision = f"erasure/{event.request_id}", 0
        case _:
            return
    for endpoint in endpoints:
        if endpoint.wants(received.topic, event.tenant, project):
            yield OutboxMessage(
                endpoint.name,
                subject,
                event.event_id,
                received.topic,
                revision,
                event.tenant,
                user,
                event.occurred_at,
                event.model_dump_json(by_alias=True),
                received.traceparent,
            )
