"""Hands an endpoint what is due, and leaves it alone while it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from contracts.instants import SECOND
from reporting.webhooks.endpoints import Endpoint
from reporting.webhooks.payload import Delivery
from reporting.webhooks.schedule import next_try
from reporting.webhooks.sending import Sender
from reporting.webhooks.store import Deliveries
from servicekit import metrics
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import Clock
from servicekit.logging import logger

AT_ONCE: Final = 8
"""Attempts of one endpoint at the same time."""
ATTEMPT_SECONDS: Final = 15.0
"""How long a receiver may take, as Standard Webhooks advises."""
log = logger("webhooks")


class Courier:
    """One endpoint's deliveries. Each endpoint has a courier of its own, so that none waits for another's receiver."""

    def __init__(
        self,
        endpoint: Endpoint,
        deliveries: Deliveries,
        clock: Clock,
        *,
        seconds: float = ATTEMPT_SECONDS,
        pick: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self._deliveries = deliveries
        self._clock = clock
        self._seconds = seconds
        self._pick = pick
        self._sender = Sender(endpoint, seconds)
        self._breaker = CircuitBreaker()

    async def close(self) -> None:
        await self._sender.close()

    async def deliver(self) -> None:
        """Hand over all that is due. After five failures in a row only one attempt is made each half minute."""
        while self._breaker.lets_through(self._clock.monotonic()):
            now = self._clock.now()
            # Whoever dies with them leaves them to be taken up again soon after the attempt would have ended.
            until = now + int(2 * self._seconds * SECOND)
            limit = 1 if self._breaker.open else AT_ONCE
            due = await self._deliveries.claim(self.endpoint.name, now, until, limit)
            if not due:
                return
            await asyncio.gather(*(self._hand_over(one) for one in due))

    async def _hand_over(self, one: Delivery) -> None:
        answer = await self._sender.send(one, self._clock.now())
        if answer.delivered:
            self._breaker.succeeded()
            await self._deliveries.delivered(one)
            metrics.WEBHOOKS.labels(self.endpoint.name, "delivered").inc()
            return
        self._breaker.failed(self._clock.monotonic())
        again_at = None
        if not answer.gone:
            again_at = next_try(one.attempts + 1, self._clock.now(), answer.retry_after, self._pick())
        await self._deliveries.failed(one, again_at, answer.what)
        outcome = "dead" if again_at is None else "failed"
        metrics.WEBHOOKS.labels(self.endpoint.name, outcome).inc()
        log.warning(f"webhook_{outcome}", endpoint=self.endpoint.name, attempt=one.attempts + 1, answer=answer.what)
