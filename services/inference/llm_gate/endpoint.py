"""A language model over HTTP, at any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

from typing import Final

import httpx

from inference.llm_gate.answer import WrongAnswer

ANSWER_LIMIT: Final = 64 * 1024
"""Bytes of one answer's body."""
REFUSED: Final = frozenset({400, 413, 422})
"""What an endpoint says that is up but will not answer this question: too long, filtered."""


class Broken(Exception):
    """The endpoint can't be reached or doesn't answer as one. Holds neither key nor text."""


class LlmEndpoint:
    """Asks `url`/chat/completions; `key` is sent as a bearer token. Sets no time limit of its own."""

    def __init__(self, url: str, key: str | None, connections: int) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=None,  # noqa: S113  # whoever asks has one limit for the whole
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    async def complete(self, body: bytes) -> bytes:
        """The body of the answer to a request. Raises Broken, or WrongAnswer where this very question is refused."""
        answer = bytearray()
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                if response.status_code in REFUSED:
                    raise WrongAnswer("refused")
                if response.status_code != 200:
                    raise Broken(f"status {response.status_code}")
                # Raw, so that a small compressed body can't become a large one.
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) > ANSWER_LIMIT:
                        raise Broken("too large")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Broken(type(error).__name__) from None
        return bytes(answer)

    async def close(self) -> None:
        await self._client.aclose()
