"""Delivery of events to a webhook endpoint, with a circuit breaker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import structlog

from contracts.instants import SECOND
from reporting import metrics
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.payload import WebhookDelivery
from reporting.outbox.schedule import next_attempt
from reporting.outbox.sending import AttemptResult, Sender
from reporting.outbox.store import Deliveries
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import Clock

AT_ONCE: Final = 8
"""Maximum number of concurrent attempts per endpoint."""
ATTEMPT_SECONDS: Final = 15.0
"""Time limit of an attempt in seconds, as recommended by Standard Webhooks."""
log = structlog.get_logger(part="webhooks")


class AttemptSpan(Protocol):
    """OpenTelemetry span of a delivery attempt. It belongs to the trace of the delivered event."""

    @property
    def traceparent(self) -> str: ...

    def ended(self, error: str | None) -> None: ...


BeginSpan = Callable[[str, str | None, Mapping[str, str | int]], AttemptSpan | None]
"""Starts a span with a name, `traceparent` and attributes. Returns None if the trace is not sampled."""


class Courier:
    """Delivers the events of one endpoint. Endpoints do not wait for each other, because each has its own courier."""

    def __init__(
        self,
        endpoint: WebhookEndpoint,
        deliveries: Deliveries,
        clock: Clock,
        *,
        seconds: float = ATTEMPT_SECONDS,
        pick: Callable[[], float] = random.random,
        begin_span: BeginSpan = lambda _name, _traceparent, _attributes: None,
    ) -> None:
        self.endpoint = endpoint
        self._deliveries = deliveries
        self._clock = clock
        self._seconds = seconds
        self._pick = pick
        self._begin_span = begin_span
        self._sender = Sender(endpoint, seconds)
        self._breaker = CircuitBreaker()

    async def close(self) -> None:
        await self._sender.close()

    async def deliver(self) -> None:
        """Send all events that are due.

        After five consecutive failures, only one attempt is made every half minute.
        """
        while self._breaker.lets_through(self._clock.monotonic()):
            now = self._clock.now()
            # The claim is longer than an attempt. If this process crashes, another one claims the events afterwards.
            until = now + int(2 * self._seconds * SECOND)
            limit = 1 if self._breaker.open else AT_ONCE
            due = await self._deliveries.claim(self.endpoint.name, now, until, limit)
            if not due:
                return
            await asyncio.gather(*(self._hand_over(delivery) for delivery in due))

    async def _hand_over(self, delivery: WebhookDelivery) -> None:
        answer = await self._attempt(delivery)
        if answer.delivered:
            self._breaker.succeeded()
            await self._deliveries.delivered(delivery)
            metrics.WEBHOOKS.labels(self.endpoint.name, "delivered").inc()
            return
        self._breaker.failed(self._clock.monotonic())
        again_at = None
        if not answer.gone:
            again_at = next_attempt(delivery.attempts + 1, self._clock.now(), answer.retry_after, self._pick())
        await self._deliveries.failed(delivery, again_at, answer.what)
        outcome = "dead" if again_at is None else "failed"
        metrics.WEBHOOKS.labels(self.endpoint.name, outcome).inc()
        log.warning(
            f"webhook_{outcome}", endpoint=self.endpoint.name, attempt=delivery.attempts + 1, answer=answer.what
        )

    async def _attempt(self, delivery: WebhookDelivery) -> AttemptResult:
        """Make one attempt to deliver an event, in a child span if the trace of the event is sampled."""
        attributes = {"agent_feedback.endpoint": self.endpoint.name, "messaging.destination.name": delivery.topic}
        span = self._begin_span("webhook", delivery.traceparent, attributes)
        answer = await self._sender.send(
            delivery, self._clock.now(), span.traceparent if span else delivery.traceparent
        )
        if span is not None:
            span.ended(None if answer.delivered else answer.what)
        return answer
