"""Deliveries, and the body and headers of webhook requests as specified by Standard Webhooks. No I/O."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook

from contracts.instants import SECOND, format_instant


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """Message to deliver to a receiver: an event to a webhook endpoint, or an announcement to an alert channel.

    Attributes:
        receiver: Name of the endpoint or of the channel.
        subject: Identifier of the feedback record, rating, erasure or alert that the message is about.
        revision: Revision of the subject. A higher revision replaces a lower one.
        user_id: Person whose text the event may contain, if any.
        occurred_at: Time of the event in microseconds.
        event: The event or the announcement as JSON.
        traceparent: W3C trace context of the event.
        project: Project of the alert channel; empty for an endpoint.
        follows: Subject that must be delivered or dead before this message is sent, or None.
        attempts: Number of failed attempts so far.
    """

    receiver: str
    subject: str
    event_id: str
    topic: str
    revision: int
    tenant: str
    user_id: str | None
    occurred_at: int
    event: str
    traceparent: str | None = None
    project: str = ""
    follows: str | None = None
    attempts: int = 0


def body_of(topic: str, occurred_at: int, data: Any) -> bytes:
    """Return the request body, which is the same for all attempts."""
    content = {"type": topic, "timestamp": format_instant(occurred_at), "data": data}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(event_id: str, body: bytes, keys: Sequence[bytes], now: int) -> dict[str, str]:
    """Return the request headers for an attempt, with a signature for each key.

    Args:
        now: Time of the attempt in microseconds, which is part of the signatures.
    """
    moment = datetime.fromtimestamp(now // SECOND, UTC)
    return {
        "content-type": "application/json",
        "user-agent": "agent-feedback",
        "webhook-id": event_id,
        "webhook-timestamp": str(now // SECOND),
        "webhook-signature": " ".join(Webhook(key).sign(event_id, moment, body.decode()) for key in keys),
    }
