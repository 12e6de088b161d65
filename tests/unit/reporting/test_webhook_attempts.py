"""Single attempts to deliver a webhook, against a real server on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from reporting.outbox.sending import AttemptResult, CheckedHttp
from tests.support.llm_server import LlmServer, llm_server, response


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        yield running


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("Retry-After: 120\r\n", 120),
        ("Retry-After: 999999\r\n", 999_999),
        ("Retry-After: 1000000\r\n", 0),
        ("Retry-After: -5\r\n", 0),
        ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", 0),
    ],
)
async def test_a_receiver_may_name_the_seconds_until_the_next_attempt(
    receiver: LlmServer, header: str, seconds: int
) -> None:
    receiver.respond = lambda _: response(b"", 503, headers=header)
    http = CheckedHttp(5)
    found = await http.post(f"{receiver.url}/chat/completions", b"{}", {}, private=True)
    await http.close()
    assert found == AttemptResult("503", delivered=False, gone=False, retry_after=seconds)
