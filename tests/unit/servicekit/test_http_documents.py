"""Documents that are the same for every caller."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from fastapi import Response

from servicekit.web import application as module
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AccessToken
from servicekit.web.routes import Routes

PATHS = ("/openapi.json", "/asyncapi.json")


async def ready() -> None:
    return None


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = application(ready)
    transport = httpx.ASGITransport(app=guarded(app, AccessToken("t")))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client


async def test_a_document_is_made_once(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [await http.get(path) for path in PATHS]
    for name in ("get_openapi", "asyncapi", "_as_json"):
        monkeypatch.setattr(module, name, None)
    again = [await http.get(path) for path in PATHS]
    assert [one.status_code for one in again] == [200, 200]
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
    assert plain.headers["content-encoding"] == "identity" and packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("GZIP", True), ("br,gzip", True), ("gzip; q=0.5, br", True), ("gzip;q=0", False),
     ("gzip;q=0.0", False), ("gzip;q=1", True),
     ("gzip; q=0, br", False), ("br, deflate", False), ("xgzip", False), ("", False)],
)  # fmt: skip
async def test_gzip_is_sent_only_if_the_client_names_it(http: httpx.AsyncClient, accepted: str, packed: bool) -> None:
    answer = await http.get("/openapi.json", headers={"Accept-Encoding": accepted})
    assert (answer.headers["content-encoding"] == "gzip") is packed
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(("size", "packed"), [(1023, False), (1024, True), (1025, True)])
async def test_an_answer_of_a_kibibyte_is_compressed(size: int, packed: bool) -> None:
    app, router = application(ready), Routes("tests", token=False)

    @router.at("GET", "/text", "no token")
    def text() -> Response:
        return Response("x" * size)

    add_routes(app, [router])
    guard = guarded(app, AccessToken("t"))
    transport = httpx.ASGITransport(app=guard)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        answer = await client.get("/text", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.text) == (200, "x" * size)
    assert ("content-encoding" in answer.headers) is packed


async def test_routes_that_are_added_later_are_in_it() -> None:
    app = application(ready)
    transport = httpx.ASGITransport(app=guarded(app, AccessToken("t")))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        before = await client.get("/openapi.json")
        router = Routes("tests", token=False)
        router.at("GET", "/later", "no token")(ready)
        add_routes(app, [router])
        after = await client.get("/openapi.json")
    assert "/later" in after.json()["paths"] and after.headers["etag"] != before.headers["etag"]
