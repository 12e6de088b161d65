"""HTTP client for delivery attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from reporting.outbox.addresses import NotAllowed, address_of
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.payload import WebhookDelivery, body_of, headers_of

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


class CheckedHttp:
    """HTTP client that connects only to permitted addresses (`addresses.py`).

    It follows no redirects, reads no response bodies and uses no proxies.

    Args:
        seconds: Time limit of an attempt.
    """

    def __init__(self, seconds: float) -> None:
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


class Sender:
    """HTTP client for a webhook endpoint."""

    def __init__(self, endpoint: WebhookEndpoint, seconds: float) -> None:
        self._endpoint = endpoint
        self._http = CheckedHttp(seconds)

    async def close(self) -> None:
        await self._http.close()

    async def send(self, delivery: WebhookDelivery, now: int, traceparent: str | None = None) -> AttemptResult:
        """Make one attempt to deliver an event. Delivery errors are returned rather than raised.

        Args:
            now: The current time in microseconds, which is part of the signature.
            traceparent: W3C trace context to send.
        """
        settings = self._endpoint.settings
        body = body_of(delivery)
        headers = headers_of(delivery.event_id, body, self._endpoint.keys, now)
        if traceparent is not None:
            headers["traceparent"] = traceparent
        return await self._http.post(settings.url, body, headers, private=settings.private)


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
