"""Delivery of alert messages by HTTP, with a time limit and only to permitted addresses."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from typing import Final

import structlog

from contracts.instants import SECOND
from reporting import metrics
from reporting.alerts.channels import AlertChannel, AlertChannels
from reporting.alerts.messages import Announcement
from reporting.alerts.requests import request_to
from reporting.alerts.store import AlertMessages, AlertReceiver, WaitingMessage
from reporting.model.selection import Project
from reporting.outbox.courier import ATTEMPT_SECONDS
from reporting.outbox.schedule import next_attempt
from reporting.outbox.sending import AttemptResult, CheckedHttp
from servicekit.clock import Clock

AT_ONCE: Final = 2
"""Maximum number of concurrent attempts per channel of a project."""
RECEIVERS_AT_ONCE: Final = 4
"""Maximum number of channels per tenant that are served concurrently."""
NO_CHANNEL: Final = AttemptResult("no_channel", gone=True)
"""Result for a message whose channel was removed."""
log = structlog.get_logger(part="alerts")


class AlertCourier:
    """Delivers queued alert messages.

    Delivery errors are recorded without secrets instead of being raised. Each channel of a project has its own task, so
    that a slow channel does not delay the messages of other tenants.
    """

    def __init__(
        self, channels: AlertChannels, messages: AlertMessages, clock: Clock, seconds: float = ATTEMPT_SECONDS
    ) -> None:
        self._channels = channels
        self._messages = messages
        self._clock = clock
        self._seconds = seconds
        self._http = CheckedHttp(seconds)
        self._tasks: dict[AlertReceiver, asyncio.Task[None]] = {}
        self._failure: BaseException | None = None
        self._of_tenant: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(RECEIVERS_AT_ONCE))

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self.sent()
        await self._http.close()

    async def deliver(self) -> None:
        """Start sending all messages that are due.

        Failed messages are retried on the same schedule as webhooks. After a crash, a message may be sent twice.

        If a delivery task has failed since the last call, for example because the database was unavailable, its
        exception is raised here.
        """
        for receiver in await self._messages.due(self._clock.now()):
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

    async def _deliver_to(self, receiver: AlertReceiver) -> None:
        """Send all due messages of one receiver."""
        due = True
        while due:
            async with self._of_tenant[receiver.tenant]:
                due = await self._deliver_some(receiver)

    def _ended(self, receiver: AlertReceiver, task: asyncio.Task[None]) -> None:
        del self._tasks[receiver]
        if not task.cancelled():
            self._failure = task.exception() or self._failure

    async def _deliver_some(self, receiver: AlertReceiver) -> bool:
        """Send up to AT_ONCE due messages of a receiver. Returns False if none are due."""
        now = self._clock.now()
        due = await self._messages.claim(receiver, now, now + int(2 * self._seconds * SECOND), AT_ONCE)
        # If one message raises an error, the other attempts still end and their outcomes are stored.
        ended = await asyncio.gather(*(self._hand_over(message) for message in due), return_exceptions=True)
        for outcome in ended:
            if outcome is not None:
                raise outcome
        return bool(due)

    async def send(self, channel: AlertChannel, id_: str, announcement: Announcement) -> AttemptResult:
        """Make one attempt to send an announcement."""
        request = request_to(channel, id_, announcement, self._clock.now())
        return await self._http.post(channel.url, request.body, request.headers, private=channel.private)

    async def _hand_over(self, message: WaitingMessage) -> None:
        announcement = message.announcement
        # The channel may have changed since the message was queued.
        channel = await self._channels.find(Project(announcement.tenant, announcement.project), message.channel)
        result = NO_CHANNEL if channel is None else await self.send(channel, str(message.id), announcement)
        kind = "none" if channel is None else channel.kind
        if result.delivered:
            await self._messages.delivered(message)
            metrics.ALERT_MESSAGES.labels(kind, "delivered").inc()
            return
        again_at = None
        if not result.gone:
            again_at = next_attempt(message.attempts + 1, self._clock.now(), result.retry_after, 0.0)
        await self._messages.failed(message, again_at, result.what)
        outcome = "dead" if again_at is None else "failed"
        metrics.ALERT_MESSAGES.labels(kind, outcome).inc()
        log.warning(f"alert_message_{outcome}", kind=kind, attempt=message.attempts + 1, answer=result.what)
