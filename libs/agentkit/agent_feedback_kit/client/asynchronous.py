"""HTTP client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import update_wrapper
from importlib import import_module
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx

from agent_feedback_kit.answers import ExportKind, FilterArguments
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.requests import Call, ProjectPlace, Request
from agent_feedback_kit.client.retrying import Retries, read_json, refusal_of
from agent_feedback_kit.client.transport import ANSWER_LIMIT, Token, settings_of, unreachable
from agent_feedback_kit.errors import AgentFeedbackError, UnexpectedAnswer, Unreachable

with suppress(ImportError):  # otherwise httpx imports it at the first request, within a planner's 50 ms
    import_module("anyio._backends._asyncio")
P = ParamSpec("P")
T = TypeVar("T")


def _method(
    build: Callable[Concatenate[ProjectPlace, P], Call[T]],
) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return a method that performs the call that `build` returns for the method's arguments."""

    async def call(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.send(build(client.project, *args, **kwargs))

    update_wrapper(call, build)
    return call


class AsyncClient:
    """Asyncio HTTP client for one tenant and project. Use it as an asynchronous context manager.

    `timeout` is the time limit for a call in seconds, including retries. If a call fails, an AgentFeedbackError is
    raised.
    """

    submit_feedback = _method(calls.submit_feedback)
    submit_rating = _method(calls.submit_rating)
    clear_feedback = _method(calls.clear_feedback)
    own_feedback = _method(calls.own_feedback)
    ingest = _method(calls.ingest)
    end_session = _method(calls.end_session)
    memory_status = _method(calls.memory_status)
    detect = _method(calls.detect)
    latest = _method(calls.latest)
    search_strategies = _method(calls.search_strategies)
    period = _method(calls.period)
    search = _method(calls.search)

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        tenant: str,
        project: str,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings_of(url, token, tenant, project, timeout, retries)
        self._http = httpx.AsyncClient(transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections of the client."""
        await self._http.aclose()

    @property
    def project(self) -> ProjectPlace:
        """The tenant and the project of the client."""
        return self._settings.project

    async def send(self, call: Call[T], within: float | None = None) -> T:
        """Perform an API call and return its result.

        `within` is a time limit in seconds that replaces the client's timeout.
        """
        deadline = asyncio.get_running_loop().time() + (within or self._settings.timeout)
        return call.read([await self._answer(request, deadline) for request in call.requests])

    async def export(
        self, kind: ExportKind, *, everyone: bool = False, records: bool = False, **filters: Unpack[FilterArguments]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of an export as they arrive.

        The rows are streamed, so memory usage is constant. The client's timeout applies to each chunk. By default, only
        verdicts of people and reviewers are exported. Set `everyone` to include the detector's verdicts, or use the
        filter `origin` to export only the verdicts of that origin. An export has one row per judged answer and person;
        set `records` for every feedback record.

        Raises UnexpectedAnswer if a row is truncated, and Unreachable if the connection breaks before the end.
        """
        request = calls.export_request(self.project, kind, filters, everyone=everyone, records=records)
        sent = self._settings.request(self._http, request, self._settings.timeout)
        try:
            answer = await self._http.send(sent, stream=True)
            try:
                if answer.status_code != 200:
                    raise refusal_of(answer.status_code, answer.headers, await answer.aread())
                async for line in answer.aiter_lines():
                    if line:
                        yield calls.export_row(line)
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise unreachable(error) from None

    async def _answer(self, request: Request, deadline: float) -> Any:
        tried = 0
        clock = asyncio.get_running_loop().time
        while True:
            tried += 1
            try:
                return await self._once(request, deadline)
            except AgentFeedbackError as error:
                wait = self._settings.retries.wait(tried, error, deadline - clock())
                if wait is None:
                    raise
            await asyncio.sleep(wait)

    async def _once(self, request: Request, deadline: float) -> Any:
        sent = self._settings.request(self._http, request, deadline - asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._http.send(sent, stream=True)
                try:
                    body = await _body(answer)
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise Unreachable("there was no response in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(error) from None
        return read_json(answer.status_code, answer.headers, body)


async def _body(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > ANSWER_LIMIT:
            raise UnexpectedAnswer(f"the response is larger than {ANSWER_LIMIT} bytes")
    return bytes(body)
