"""Delivery of announcements to alert channels."""

from __future__ import annotations

import json

from reporting.alerts.channels import AlertChannel, AlertChannels
from reporting.alerts.messages import Announcement
from reporting.alerts.requests import request_to
from reporting.model.selection import Project
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.sending import NO_RECEIVER, AttemptResult, CheckedHttp
from servicekit.clock import Clock


class AlertSender:
    """Sender of announcements to alert channels."""

    def __init__(self, channels: AlertChannels, http: CheckedHttp, clock: Clock) -> None:
        self._channels = channels
        self._http = http
        self._clock = clock

    async def send(self, delivery: OutboxMessage) -> AttemptResult:
        """Make one attempt to deliver an announcement. Delivery errors are returned rather than raised."""
        # The channel may have changed since the message was queued.
        channel = await self._channels.find(Project(delivery.tenant, delivery.project), delivery.receiver)
        if channel is None:
            return NO_RECEIVER
        return await self.send_to(channel, delivery.event_id, Announcement(**json.loads(delivery.event)))

    async def send_to(self, channel: AlertChannel, id_: str, announcement: Announcement) -> AttemptResult:
        """Make one attempt to send an announcement to a channel."""
        request = request_to(channel, id_, announcement, self._clock.now())
        return await self._http.post(channel.url, request.body, request.headers, private=channel.private)
