"""Blocking HTTP client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx

from agent_feedback_kit.answers import ExportKind, FilterArguments
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.requests import Call, ProjectPlace, Request
from agent_feedback_kit.client.retrying import Retries, read_json, refusal_of
from agent_feedback_kit.client.transport import ANSWER_LIMIT, Token, settings_of, unreachable
from agent_feedback_kit.errors import AgentFeedbackError, UnexpectedAnswer, Unreachable

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[Concatenate[ProjectPlace, P], Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a method that performs the call that `build` returns for the method's arguments."""

    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.send(build(client.project, *args, **kwargs))

    update_wrapper(call, build)
    return call


class Client:
    """Blocking HTTP client for one tenant and project. Use it as a context manager. It is thread-safe.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings_of(url, token, tenant, project, timeout, retries)
        self._http = httpx.Client(transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections of the client."""
        self._http.close()

    @property
    def project(self) -> ProjectPlace:
        """The tenant and the project of the client."""
        return self._settings.project

    def send(self, call: Call[T], within: float | None = None) -> T:
        """Perform an API call and return its result.

        `within` is a time limit in seconds that replaces the client's timeout.
        """
        deadline = time.monotonic() + (within or self._settings.timeout)
        return call.read([self._answer(request, deadline) for request in call.requests])

    def export(
        self, kind: ExportKind, *, everyone: bool = False, records: bool = False, **filters: Unpack[FilterArguments]
    ) -> Iterator[dict[str, Any]]:
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
            answer = self._http.send(sent, stream=True)
            try:
                if answer.status_code != 200:
                    raise refusal_of(answer.status_code, answer.headers, answer.read())
                yield from (calls.export_row(line) for line in answer.iter_lines() if line)
            finally:
                answer.close()
        except httpx.HTTPError as error:
            raise unreachable(error) from None

    def _answer(self, request: Request, deadline: float) -> Any:
        tried = 0
        while True:
            tried += 1
            try:
                return self._once(request, deadline)
            except AgentFeedbackError as error:
                wait = self._settings.retries.wait(tried, error, deadline - time.monotonic())
                if wait is None:
                    raise
            time.sleep(wait)

    def _once(self, request: Request, deadline: float) -> Any:
        sent = self._settings.request(self._http, request, deadline - time.monotonic())
        try:
            answer = self._http.send(sent, stream=True)
            try:
                return read_json(answer.status_code, answer.headers, _body(answer, deadline))
            finally:
                answer.close()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(error) from None


def _body(answer: httpx.Response, deadline: float) -> bytes:
    """Read the complete body of a response.

    Raises:
        Unreachable: The body is incomplete at the deadline.
        UnexpectedAnswer: The body is larger than `ANSWER_LIMIT`.
    """
    body = bytearray()
    for part in answer.iter_bytes():
        body += part
        if len(body) > ANSWER_LIMIT:
            raise UnexpectedAnswer(f"the response is larger than {ANSWER_LIMIT} bytes")
        if time.monotonic() > deadline:
            raise Unreachable("there was no response in time")
    return bytes(body)
