"""HTTP client that makes one attempt to deliver an event."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx

from reporting.egress.webhooks.addresses import NotAllowed, address_of
from reporting.egress.webhooks.endpoints import WebhookEndpoint
from reporting.egress.webhooks.payload import WebhookDelivery, body_of, headers_of

GONE = 410
"""Status with which a receiver rejects an event for good."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Outcome of an attempt. `what` is a status or a short error name; `retry_after` is in seconds."""

    what: str
    delivered: bool = False
    gone: bool = False
    retry_after: int = 0


class Sender:
    """HTTP client of one endpoint. Each attempt ends within `seconds`; redirects are not followed, bodies not read."""

    def __init__(self, endpoint: WebhookEndpoint, seconds: float) -> None:
        self._endpoint = endpoint
        self._seconds = seconds
        self._url = httpx.URL(endpoint.settings.url)
        self._host = self._url.raw_host.decode("ascii")
        self._http = httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=seconds)

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, delivery: WebhookDelivery, now: int) -> AttemptResult:
        """Make one attempt, signed at `now` (microseconds). Errors of the receiver or the network do not raise."""
        settings = self._endpoint.settings
        body = body_of(delivery, settings.format)
        headers = headers_of(delivery.event_id, body, self._endpoint.keys, settings.format, now)
        headers["host"] = self._url.netloc.decode("ascii")
        port = self._url.port or (443 if self._url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(self._seconds):
                address = await address_of(self._host, port, private=settings.private)
                async with self._http.stream(
                    "POST",
                    self._url.copy_with(host=address),
                    content=body,
                    headers=headers,
                    extensions={"sni_hostname": self._host},
                ) as answer:
                    return _answer(answer)
        except NotAllowed:
            return AttemptResult("private_address")
        except TimeoutError:
            return AttemptResult("timeout")
        except (httpx.HTTPError, OSError, UnicodeError) as error:
            return AttemptResult("timeout" if isinstance(error, httpx.TimeoutException) else type(error).__name__)


def _answer(answer: httpx.Response) -> AttemptResult:
    asked = answer.headers.get("retry-after", "")
    return AttemptResult(
        str(answer.status_code),
        delivered=answer.is_success,
        gone=answer.status_code == GONE,
        retry_after=int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= 6 else 0,
    )
