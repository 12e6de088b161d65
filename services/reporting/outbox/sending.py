"""HTTP client for delivery attempts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import httpx

from reporting.outbox.addresses import NotAllowed, address_of
from reporting.outbox.endpoints import WebhookEndpoint, signing_key
from reporting.outbox.payload import OutboxMessage, body_of, headers_of
from servicekit.clock import Clock

ATTEMPT_SECONDS: Final = 15.0
"""Time limit of an attempt in seconds, as recommended by Standard Webhooks."""
GONE = 410
"""HTTP status of a receiver that permanently rejects an event."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Outcome of a delivery attempt.

    Attributes:
        what: HTTP status or short name of an error.
        gone: True if the message must not be retried.
        retry_after: Seconds to wait as requested by the receiver, or 0.
    """

    what: str
    delivered: bool = False
    gone: bool = False
    retry_after: int = 0


NO_RECEIVER: Final = AttemptResult("no_receiver", gone=True)
"""Result for a message whose endpoint or channel was removed."""


class CheckedHttp:
    """HTTP client that connects only to permitted addresses (`addresses.py`).

    It follows no redirects, reads no response bodies and uses no proxies.

    Args:
        seconds: Time limit of an attempt.
    """

    def __init__(self, seconds: float = ATTEMPT_SECONDS) -> None:
        self._seconds = seconds
        # Callers limit concurrency per receiver. A common limit would let slow receivers delay the others.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._http = httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=seconds, limits=limits)

    async def close(self) -> None:
        await self._http.aclose()

    async def post(self, address: str, body: bytes, headers: Mapping[str, str], *, private: bool) -> AttemptResult:
        """Make one delivery attempt. Delivery errors are returned rather than raised.

        Args:
            private: Also permit addresses that are not public.
        """
        try:
            url = httpx.URL(address)
            host = url.raw_host.decode("ascii")
            port = url.port or (443 if url.scheme == "https" else 80)
            async with asyncio.timeout(self._seconds):
                checked = await address_of(host, port, private=private)
                async with self._http.stream(
                    "POST",
                    url.copy_with(host=checked),
                    content=body,
                    headers={**headers, "host": url.netloc.decode("ascii")},
                    extensions={"sni_hostname": host},
                ) as answer:
                    return _answer(answer)
        except NotAllowed:
            return AttemptResult("private_address")
        except TimeoutError:
            return AttemptResult("timeout")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            return AttemptResult("timeout" if isinstance(error, httpx.TimeoutException) else type(error).__name__)


class WebhookSender:
    """Sender of events to webhook endpoints.

    Raises:
        StartError: If a signing key is missing or invalid.
    """

    def __init__(self, endpoints: Sequence[WebhookEndpoint], http: CheckedHttp, clock: Clock) -> None:
        self._endpoints = {endpoint.name: endpoint for endpoint in endpoints}
        self._keys = {endpoint.name: [signing_key(name) for name in endpoint.secrets] for endpoint in endpoints}
        self._http = http
        self._clock = clock

    async def send(self, delivery: OutboxMessage) -> AttemptResult:
        """Make one attempt to deliver an event, with its trace context. Errors are returned rather than raised."""
        endpoint = self._endpoints.get(delivery.receiver)
        if endpoint is None:
            return NO_RECEIVER
        body = body_of(delivery.topic, delivery.occurred_at, json.loads(delivery.event))
        headers = headers_of(delivery.event_id, body, self._keys[endpoint.name], self._clock.now())
        if delivery.traceparent:
            headers["traceparent"] = delivery.traceparent
        return await self._http.post(endpoint.url, body, headers, private=endpoint.private)


def _answer(answer: httpx.Response) -> AttemptResult:
    retry_after = answer.headers.get("retry-after", "")
    return AttemptResult(
        str(answer.status_code),
        delivered=answer.is_success,
        gone=answer.status_code == GONE,
        retry_after=int(retry_after)
        if retry_after.isascii() and retry_after.isdigit() and len(retry_after) <= 6
        else 0,
    )
