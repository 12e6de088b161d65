"""HTTP client for an endpoint that offers OpenAI's chat completions API."""

from __future__ import annotations

from typing import Final

import httpx

from chat_completions.completion import WrongAnswer

ANSWER_LIMIT: Final = 64 * 1024
"""Maximum size of a response body in bytes."""
REFUSED: Final = frozenset({400, 413, 422})
"""Statuses with which a working endpoint rejects a single question, for example because it is too long."""


class EndpointFailed(Exception):
    """Raised if the endpoint cannot be reached or returns an error.

    The error message contains neither the key nor any user text.
    """


class LlmEndpoint:
    """HTTP client for the chat completions endpoint of a language model.

    The client has no timeout of its own, so callers must set a deadline.

    Args:
        url: Base URL, to which `/chat/completions` is appended.
        key: Bearer token, if the endpoint requires one.
        connections: Maximum number of concurrent connections.
    """

    def __init__(self, url: str, key: str | None, connections: int) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=None,  # noqa: S113  # the caller sets a deadline for the whole call
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    async def complete(self, body: bytes) -> bytes:
        """Send a request body to the endpoint and return the response body.

        Raises:
            WrongAnswer: The endpoint rejects the content of the request.
            EndpointFailed: The request fails for any other reason, or the response is larger than `ANSWER_LIMIT`.
        """
        answer = bytearray()
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                if response.status_code in REFUSED:
                    raise WrongAnswer("refused")
                if response.status_code != 200:
                    raise EndpointFailed(f"status {response.status_code}")
                # Raw bytes, so that a small compressed body cannot expand beyond the limit.
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) > ANSWER_LIMIT:
                        raise EndpointFailed("too large")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointFailed(type(error).__name__) from None
        return bytes(answer)

    async def close(self) -> None:
        await self._client.aclose()
