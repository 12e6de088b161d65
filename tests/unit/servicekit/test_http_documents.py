"""Documents that are the same for every caller."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from fastapi import APIRouter

from servicekit.web import application as module
from servicekit.web.application import Surface, add_routes, application, guarded
from servicekit.web.auth import AccessToken

PATHS = ("/openapi.json", "/docs", "/asyncapi.json")


async def ready() -> None:
    return None


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = application(ready)
    transport = httpx.ASGITransport(app=guarded(app, AccessToken("t"), Surface()))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client


async def test_a_document_is_made_once(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [await http.get(path) for path in PATHS]
    for name in ("get_openapi", "asyncapi", "reference_page", "_as_json"):
        monkeypatch.setattr(module, name, None)
    again = [await http.get(path) for path in PATHS]
    assert [one.status_code for one in again] == [200, 200, 200]
    assert [one.content for one in again] == [one.content for one in first]


async def test_a_client_that_has_it_gets_nothing(http: httpx.AsyncClient) -> None:
    for path in PATHS:
        etag = (await http.get(path)).headers["etag"]
        for condition, status in ((etag, 304), (f'"x", {etag.removeprefix("W/")}', 304), ("*", 304), ('"x"', 200)):
            answer = await http.get(path, headers={"If-None-Match": condition})
            assert (answer.status_code, bool(answer.content)) == (status, status == 200)
            assert answer.headers["etag"] == etag


async def test_it_is_compressed_for_those_who_take_it(http: httpx.AsyncClient) -> None:
    plain = await http.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    async with http.stream("GET", "/openapi.json", headers={"Accept-Encoding": "br, gzip"}) as packed:
        raw = b"".join([piece async for piece in packed.aiter_raw()])
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content


async def test_routes_that_are_added_later_are_in_it() -> None:
    app = application(ready)
    transport = httpx.ASGITransport(app=guarded(app, AccessToken("t"), Surface()))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        before = await client.get("/openapi.json")
        router = APIRouter()
        router.add_api_route("/later", ready, methods=["GET"])
        add_routes(app, [router])
        after = await client.get("/openapi.json")
    assert "/later" in after.json()["paths"] and after.headers["etag"] != before.headers["etag"]
