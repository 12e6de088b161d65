"""Delivery of messages to webhook endpoints and alert channels, with retries and circuit breakers."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import structlog

from contracts.instants import SECOND
from reporting import metrics
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.schedule import next_attempt
from reporting.outbox.sending import ATTEMPT_SECONDS, AttemptResult
from reporting.outbox.store import Deliveries, Receiver
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import Clock

AT_ONCE: Final = 8
"""Maximum number of concurrent attempts per receiver."""
CHANNELS_AT_ONCE: Final = 4
"""Maximum number of alert channels per tenant that are served concurrently."""
log = structlog.get_logger(part="deliveries")


class Courier:
    """Sender of due messages with one task per receiver, so that a slow receiver does not delay the others.

    Args:
        endpoints: Webhook endpoints to serve.
        send: Makes one attempt. It returns delivery errors instead of raising them.
        seconds: Time limit of an attempt.
        pick: Returns a random number from 0 to 1, the jitter of a retry.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        endpoints: Sequence[Receiver],
        send: Callable[[OutboxMessage], Awaitable[AttemptResult]],
        clock: Clock,
        *,
        seconds: float = ATTEMPT_SECONDS,
        pick: Callable[[], float] = random.random,
    ) -> None:
        self._deliveries = deliveries
        self._endpoints = endpoints
        self._send = send
        self._clock = clock
        self._seconds = seconds
        self._pick = pick
        self._breakers: defaultdict[Receiver, CircuitBreaker] = defaultdict(CircuitBreaker)
        self._tasks: dict[Receiver, asyncio.Task[None]] = {}
        self._failure: BaseException | None = None
        self._channels_of: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(CHANNELS_AT_ONCE)
        )

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self.sent()

    async def deliver(self) -> None:
        """Start sending all messages that are due. After a crash, a message may be sent twice.

        If a delivery task has failed since the last call, for example because the database was unavailable, its
        exception is raised here.
        """
        for receiver in (*self._endpoints, *await self._deliveries.due_channels(self._clock.now())):
            if receiver not in self._tasks:
                task = asyncio.create_task(self._deliver_to(receiver))
                self._tasks[receiver] = task
                task.add_done_callback(partial(self._ended, receiver))
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def sent(self) -> None:
        """Wait until all running delivery tasks have ended."""
        if self._tasks:
            await asyncio.wait([*self._tasks.values()])

    def _ended(self, receiver: Receiver, task: asyncio.Task[None]) -> None:
        del self._tasks[receiver]
        if not task.cancelled():
            self._failure = task.exception() or self._failure

    async def _deliver_to(self, receiver: Receiver) -> None:
        """Send all due messages of one receiver.

        After five consecutive failures, only one attempt is made every half minute.
        """
        breaker, due = self._breakers[receiver], True
        while due and breaker.lets_through(self._clock.monotonic()):
            if receiver.project:
                async with self._channels_of[receiver.tenant]:
                    due = await self._deliver_some(receiver, breaker)
            else:
                due = await self._deliver_some(receiver, breaker)
        if receiver.project and not breaker.open:
            self._breakers.pop(receiver, None)  # channels come and go

    async def _deliver_some(self, receiver: Receiver, breaker: CircuitBreaker) -> bool:
        """Send some due messages of a receiver. Returns False if none are due."""
        now = self._clock.now()
        # The claim is longer than an attempt. If this process crashes, another one claims the messages afterwards.
        until = now + int(2 * self._seconds * SECOND)
        due = await self._deliveries.claim(receiver, now, until, 1 if breaker.open else AT_ONCE)
        # If one message raises an error, the other attempts still end and their outcomes are stored.
        ended = await asyncio.gather(*(self._hand_over(delivery, breaker) for delivery in due), return_exceptions=True)
        for outcome in ended:
            if outcome is not None:
                raise outcome
        return bool(due)

    async def _hand_over(self, delivery: OutboxMessage, breaker: CircuitBreaker) -> None:
        answer, label = await self._send(delivery), "alerts" if delivery.project else delivery.receiver
        if answer.delivered:
            breaker.succeeded()
            await self._deliveries.delivered(delivery)
            metrics.DELIVERIES.labels(label, "delivered").inc()
            return
        breaker.failed(self._clock.monotonic())
        again_at = None
        if not answer.gone:
            again_at = next_attempt(delivery.attempts + 1, self._clock.now(), answer.retry_after, self._pick())
        await self._deliveries.failed(delivery, again_at, answer.what)
        outcome = "dead" if again_at is None else "failed"
        metrics.DELIVERIES.labels(label, outcome).inc()
        log.warning(f"delivery_{outcome}", receiver=label, attempt=delivery.attempts + 1, answer=answer.what)
