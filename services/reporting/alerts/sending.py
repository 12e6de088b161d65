"""Delivery of announcements to alert channels."""

from __future__ import annotations

import json
from typing import Any

from reporting.alerts.channels import AlertChannel, stored_channels
from reporting.alerts.messages import Announcement
from reporting.alerts.requests import request_to
from reporting.model.selection import Project
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.sending import NO_RECEIVER, AttemptResult, CheckedHttp
from servicekit.clock import Clock


class AlertSender:
    """Sender of announcements to alert channels.

    Args:
        private: Permit the channels that were stored as private to use http or addresses outside the public Internet.
    """

    def __init__(self, pool: Any, http: CheckedHttp, clock: Clock, *, private: bool = False) -> None:
        self._pool = pool
        self._http = http
        self._clock = clock
        self._private = private

    async def send(self, delivery: OutboxMessage) -> AttemptResult:
        """Make one attempt to deliver an announcement. Delivery errors are returned rather than raised."""
        # The channel may have changed since the message was queued.
        for channel in await stored_channels(self._pool, Project(delivery.tenant, delivery.project)):
            if channel.name == delivery.receiver:
                return await self.send_to(channel, delivery.event_id, Announcement(**json.loads(delivery.event)))
        return NO_RECEIVER

    async def send_to(self, channel: AlertChannel, id_: str, announcement: Announcement) -> AttemptResult:
        """Make one attempt to send an announcement to a channel."""
        request = request_to(channel, id_, announcement, self._clock.now())
        private = channel.private and self._private
        return await self._http.post(channel.url, request.body, request.headers, private=private)
