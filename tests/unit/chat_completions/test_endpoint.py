"""The client of a language model's endpoint, against a real server on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from chat_completions.completion import WrongAnswer
from chat_completions.endpoint import EndpointFailed, LlmEndpoint
from tests.support.llm_server import LlmServer, llm_server, response

LIMIT = 65_536


@pytest_asyncio.fixture
async def server() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        yield running


@pytest_asyncio.fixture
async def endpoint(server: LlmServer) -> AsyncIterator[LlmEndpoint]:
    made = LlmEndpoint(server.url, None, 1)
    yield made
    await made.close()


async def test_a_body_is_returned_whole_up_to_the_limit(server: LlmServer, endpoint: LlmEndpoint) -> None:
    server.respond = lambda asked: response(b"x" * asked["size"])
    assert await endpoint.complete(b'{"size": 65536}') == b"x" * LIMIT
    with pytest.raises(EndpointFailed, match="too large"):
        await endpoint.complete(b'{"size": 65537}')


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, WrongAnswer) for status in (400, 413, 422)),
        *((status, EndpointFailed) for status in (201, 401, 403, 404, 408, 429, 500, 503)),
    ],
)
async def test_a_refused_question_is_no_failure_of_the_endpoint(
    server: LlmServer, endpoint: LlmEndpoint, status: int, error: type[Exception]
) -> None:
    server.respond = lambda _: response(b"{}", status)
    with pytest.raises(error):
        await endpoint.complete(b"{}")


async def test_neither_a_redirection_nor_a_proxy_of_the_environment_is_followed(
    server: LlmServer, endpoint: LlmEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.respond = lambda _: response(b"", 307, headers=f"Location: {server.url}/elsewhere\r\n")
    with pytest.raises(EndpointFailed, match="status 307"):
        await endpoint.complete(b"{}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    server.respond = lambda _: response(b"direct")
    direct = LlmEndpoint(server.url, "secret", 1)
    assert await direct.complete(b"{}") == b"direct"
    await direct.close()
    assert server.authorizations == {None, "Bearer secret"}


async def test_a_closed_endpoint_sends_nothing(server: LlmServer, endpoint: LlmEndpoint) -> None:
    await endpoint.complete(b"{}")
    await endpoint.close()
    with pytest.raises(RuntimeError, match="closed"):
        await endpoint.complete(b"{}")
    assert len(server.asked) == 1
