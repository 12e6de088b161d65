"""Headers of a gateway count only if they come from an address in FORWARDED_ALLOW_IPS."""

from __future__ import annotations

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reporting.access.sign_in import signed_in_answer
from tests.support.served import served


async def signs_in(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    made = signed_in_answer(request, "session", "/")
    assert request.client is not None
    headers = {"set-cookie": made.headers["set-cookie"]}
    await PlainTextResponse(request.client.host, headers=headers)(scope, receive, send)


@pytest.mark.parametrize(
    ("trusted", "is_secure", "client"), [("10.0.0.1", False, "127.0.0.1"), ("127.0.0.1", True, "10.9.9.9")]
)
async def test_the_scheme_and_address_of_others_are_ignored(
    trusted: str, is_secure: bool, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    async with served(signs_in) as url, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(url, headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.9.9"})
    assert ("secure" in answer.headers["set-cookie"].lower(), answer.text) == (is_secure, client)
