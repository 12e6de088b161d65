"""Message source over HTTP, with a timeout and a circuit breaker.

A request asks for up to 100 messages of one project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

import httpx
import structlog
from pydantic_core import from_json

from chat_bridge import metrics
from chat_bridge.message_source import BadAnswer, Originals, originals_in, question, requests_for
from chat_bridge.model import MessageKey
from contracts.chat import OriginalMessage
from servicekit import CircuitBreaker, Clock

IDS_AT_ONCE = 100
REQUESTS_AT_ONCE = 4
ANSWER_LIMIT = 8 * 1024 * 1024
"""Maximum size of a response, in bytes."""
FAILURES_LIMIT = 3
"""Number of consecutive failures that opens the circuit breaker."""

log = structlog.get_logger(part="message_source")


class HttpMessageSource:
    """Message source that is queried over HTTP.

    Requests are `POST {"tenant", "project", "message_ids", "messages"}`, with a `{"conversation_id", "message_id"}` in
    `messages` for each requested message. The response is `{"messages": [...]}`, with messages in the format of chat
    events.

    After three consecutive failures, no requests are sent for `rest_seconds`. A single request then tests if the source
    has recovered.

    Args:
        token: Bearer token for the server, if it needs one.
        seconds: Maximum duration of a `fetch`.
        redact: Function that removes personal data from a response body. Its second argument is the project
            (`tenant/project`).
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        token: str | None = None,
        seconds: float = 2.0,
        rest_seconds: float = 30.0,
        redact: Callable[[bytes, str], bytes] = lambda answer, _: answer,
    ) -> None:
        self._url = url
        self._redact = redact
        self._clock = clock
        self._seconds = seconds
        self._circuit = CircuitBreaker(FAILURES_LIMIT, rest_seconds)
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=seconds, follow_redirects=False, trust_env=False)

    async def close(self) -> None:
        await self._client.aclose()

    async def fetch(self, keys: Collection[MessageKey]) -> Originals:
        if not keys:
            return {}
        now = self._clock.monotonic()
        asked = [request for request in requests_for(keys, IDS_AT_ONCE) if self._circuit.lets_through(now)]
        if not asked:
            metrics.MESSAGE_SOURCE.labels("resting").inc(len(keys))
            return {}
        found: dict[MessageKey, OriginalMessage] = {}
        tasks = [asyncio.create_task(self._ask(*request, found)) for request in asked]
        _, late = await asyncio.wait(tasks, timeout=self._seconds)
        for task in late:
            task.cancel()
        if late:
            self._failed("TimeoutError")
            await asyncio.wait(late)
        metrics.MESSAGE_SOURCE.labels("found").inc(len(found))
        metrics.MESSAGE_SOURCE.labels("unknown").inc(len(set(keys)) - len(found))
        return found

    async def _ask(
        self, tenant: str, project: str, keys: Sequence[MessageKey], found: dict[MessageKey, OriginalMessage]
    ) -> None:
        async with self._slots:
            try:
                answer = await self._post(question(tenant, project, keys), f"{tenant}/{project}")
                found.update(originals_in(answer, keys))
            except (httpx.HTTPError, httpx.InvalidURL, BadAnswer, ValueError, RecursionError) as error:
                self._failed(type(error).__name__)
            else:
                self._circuit.succeeded()

    async def _post(self, body: dict[str, object], place: str) -> object:
        """Send a request, redact the response, and return its JSON.

        Raises:
            BadAnswer: The status is not 200, or the response is too large.
        """
        async with self._client.stream("POST", self._url, json=body) as response:
            if response.status_code != 200:
                raise BadAnswer
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > ANSWER_LIMIT:
                    raise BadAnswer
        answer: object = from_json(await asyncio.to_thread(self._redact, bytes(received), place))
        return answer

    def _failed(self, error: str) -> None:
        self._circuit.failed(self._clock.monotonic())
        metrics.MESSAGE_SOURCE.labels("failed").inc()
        log.warning("source_failed", error=error, resting=self._circuit.open)
