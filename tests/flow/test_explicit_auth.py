"""The whole application with an issuer's tokens, and for another site's pages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from servicekit.log.topics import partitions_by_topic
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.ports import free_port
from tests.support.command import COMMAND
from tests.support.issuer import Issuer, accepting, issuer, issuers_file
from tests.support.running_stack import RunningStack, exchange

PATH = "/conversations/acme/support/c-jwt/turns/t1/feedback"
SITE = "https://shop.example"


@pytest_asyncio.fixture
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa")
        yield running


def client(stack: RunningStack, source: Issuer) -> httpx.AsyncClient:
    authenticator = accepting(source)
    transport = httpx.ASGITransport(stack.app(authenticator, [SITE], seconds=60))
    return httpx.AsyncClient(transport=transport, base_url="http://stack")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_the_token_says_who_judges_and_where(stack: RunningStack, source: Issuer) -> None:
    await stack.publish(*exchange("c-jwt", "t1"))
    async with client(stack, source) as http:

        async def post(body: dict[str, str], **claims: Any) -> int:
            return (await http.post(PATH, json=body, headers=bearer(source.token("rsa", **claims)))).status_code

        ok = {"reaction": "ok"}
        assert await post(ok, scope=None) == 202
        assert await post({**ok, "user_id": "bob"}, scope="ingest") == 403
        assert await post({**ok, "user_id": "bob"}, scope="on_behalf") == 202
        assert await post(ok, tenant="globex") == 403
        assert await post(ok, project="sales") == 403
        assert await post(ok, project="*") == 202
        assert await post(ok, exp=1) == 401
        assert (await http.post(PATH, json=ok)).status_code == 401
        read = await http.get(PATH, headers=bearer(source.token("rsa", tenant="globex")))
        assert read.status_code == 403
        refused = await http.post("/ingest/acme/support/events", headers=bearer(source.token("rsa", scope="on_behalf")))
        assert refused.status_code == 403


async def test_only_named_sites_may_call_and_never_with_cookies(stack: RunningStack, source: Issuer) -> None:
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    async with client(stack, source) as http:
        allowed = await http.options(PATH, headers={**ask, "Origin": SITE})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == SITE
        assert "access-control-allow-credentials" not in allowed.headers
        denied = await http.options(PATH, headers={**ask, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in denied.headers
        answer = await http.get(PATH, headers={**bearer(source.token("rsa")), "Origin": SITE})
        assert answer.headers["access-control-allow-origin"] == SITE
    async with stack.client(None) as http:
        closed = await http.options(PATH, headers={**ask, "Origin": SITE})
        assert closed.status_code == 405
        assert "access-control-allow-origin" not in closed.headers


async def test_a_service_of_its_own_asks_the_issuer(source: Issuer, postgres_url: str, tmp_path: Path) -> None:
    port = free_port()
    with MemoryBroker(partitions_by_topic()) as broker:
        found = {name: value for name, value in os.environ.items() if name != "AGENT_FEEDBACK_TOKEN"} | {
            "FEEDBACK_BROKER": broker.bootstrap,
            "FEEDBACK_DATABASE_URL": postgres_url,
            "FEEDBACK_STORE_URL": postgres_url,
            "AUTH_ISSUERS": str(issuers_file(tmp_path, jwks_url=source.url)),
            "AUTH_CORS_ORIGINS": SITE,
        }
        process = await asyncio.create_subprocess_exec(
            COMMAND, "run", "feedback", "--port", str(port), env=found, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http, asyncio.timeout(60):
                while not await _ready(http):
                    await asyncio.sleep(0.1)
                path = "/conversations/acme/support/nowhere/turns/t1/feedback"
                ok = {"reaction": "ok"}
                stranger = await http.post(path, json=ok, headers=bearer("agent-feedback"))
                other = await http.post(path, json=ok, headers=bearer(source.token("rsa", tenant="globex")))
                known = await http.post(path, json=ok, headers={**bearer(source.token("rsa")), "Origin": SITE})
                assert [answer.status_code for answer in (stranger, other, known)] == [401, 403, 404]
                assert known.headers["access-control-allow-origin"] == SITE
        finally:
            process.terminate()
            async with asyncio.timeout(20):
                await process.wait()


async def _ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False
