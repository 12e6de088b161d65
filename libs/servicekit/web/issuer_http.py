"""HTTP client for token issuers, with limits on time and size, and without redirects or proxies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import httpx
from pydantic_core import from_json

ANSWER_LIMIT: Final = 256 * 1024
"""Maximum size of an issuer's response, in bytes."""
FAILURES: Final = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, RecursionError)
"""Exceptions that `fetch_json` raises."""


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """Response of a token issuer. `value` is the parsed JSON body."""

    status: int
    value: Any


async def fetch_json(
    url: str, seconds: float, *, body: str | None = None, headers: Mapping[str, str] | None = None
) -> JsonAnswer:
    """Send a GET request, or a POST request if there is a `body`, and return the response within `seconds`.

    Raises one of FAILURES.
    """
    answer = bytearray()
    asked = {"Accept": "application/json", **(headers or {})}
    async with (
        asyncio.timeout(seconds),
        httpx.AsyncClient(verify=_tls(), timeout=seconds, follow_redirects=False, trust_env=False) as client,
        client.stream("GET" if body is None else "POST", url, content=body, headers=asked) as response,
    ):
        async for chunk in response.aiter_bytes():
            answer += chunk
            if len(answer) > ANSWER_LIMIT:
                raise ValueError("the issuer's answer is too large")
    return JsonAnswer(response.status_code, from_json(bytes(answer)))


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, which is cached because parsing the CA certificates takes tens of milliseconds."""
    return httpx.create_ssl_context(trust_env=False)
