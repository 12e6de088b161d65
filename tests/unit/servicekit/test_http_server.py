"""The HTTP server on a real socket: slow heads, refused bodies, offers of other protocols."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

import httpx
import pytest
import pytest_asyncio
from fastapi import Request, Response

from servicekit.web import server
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AccessToken, AnyOf, Caller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes
from servicekit.web.server import HEAD_BYTES, HttpServer
from tests.support.running_stack import Tokens
from tests.support.waits import PATIENCE_SECONDS

LARGE = 4_000_000


WHOLE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


LAST = b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


SLOW_START = b"GET /" + b"x" * 1_000


class Visitor:
    """Accepts the token "visitor", which has no scope."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("ann", "acme") if token == "visitor" else None


@dataclass
class Gate:
    """Holds the requests to `/waiting` until `release` is set, and counts them."""

    release: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


@asynccontextmanager
async def serving(gate: Gate | None = None) -> AsyncIterator[int]:
    async def ready() -> None:
        return None

    routes = Routes("tests", token=False)

    @routes.at("POST", "/echo", "no token")
    async def echo(request: Request) -> Response:
        return Response(await request.body())

    @routes.at("POST", "/typed", "no token", body_limit=LARGE)
    async def typed(request: Request) -> None:
        await read_body(request, {"application/json": bytes})

    @routes.at("GET", "/waiting", "no token")
    async def waiting() -> str:
        if gate is not None:
            gate.waiting += 1
            await gate.release.wait()
        return "done"

    @routes.at("POST", "/closed", "any token", body_limit=LARGE)
    @routes.at("POST", "/scoped", "admin", body_limit=LARGE)
    async def closed() -> None: ...

    app, http = application(ready), HttpServer("127.0.0.1", 0)
    add_routes(app, [routes])
    await http.start(guarded(app, AnyOf(AccessToken("t"), Visitor())))
    try:
        yield http.port
    finally:
        await http.stop()


@pytest.mark.parametrize(("sent", "slowly"), [(b"", SLOW_START), (WHOLE[:-2], b"X" * 1_000), (WHOLE, SLOW_START)])
async def test_a_head_that_never_ends_is_cut_off(sent: bytes, slowly: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then does not extend the deadline, even after a complete request."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    async with serving() as port:
        began = monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        drip = asyncio.create_task(_drip(writer, slowly))
        await _rest(reader)
        drip.cancel()
        assert 0.3 < monotonic() - began < PATIENCE_SECONDS
        writer.close()


async def test_a_slow_response_is_not_a_slow_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    gate = Gate()
    async with serving(gate) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        response = asyncio.create_task(http.get("/waiting"))
        asyncio.get_running_loop().call_later(0.6, gate.release.set)
        assert (await response).json() == "done"


async def test_a_refused_body_that_stops_coming_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    async with serving() as port:
        began = monotonic()
        output = await _exchange(port, [b"POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"])
        assert output.startswith(b"HTTP/1.1 401 ") and 0.3 < monotonic() - began < PATIENCE_SECONDS


async def test_a_head_without_end_is_refused_at_64_kibibytes() -> None:
    async with serving() as port:
        head = b"POST /echo HTTP/1.1\r\nX-Much: " + b"x" * HEAD_BYTES
        assert (await _exchange(port, [head])).startswith(b"HTTP/1.1 400 ")


async def test_requests_beyond_the_limit_on_connections_get_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 8)
    gate = Gate()
    async with serving(gate) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        waiting = [asyncio.create_task(http.get("/waiting")) for _ in range(7)]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while gate.waiting < 7:
                await asyncio.sleep(0)
        assert (await http.get("/health/live")).status_code == 503
        gate.release.set()
        assert {response.status_code for response in await asyncio.gather(*waiting)} == {200}
    async with serving() as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        assert (await http.get("/health/live")).status_code == 200


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/closed", "X: 1", 401),
        ("/scoped", "Authorization: Bearer visitor", 403),
        ("/nothing", "Authorization: Bearer t", 404),
        ("/echo", "X: 1", 413),
        ("/typed", "Content-Type: text/plain", 415),
    ],
)
async def test_a_refusal_of_a_large_body_arrives(path: str, header: str, status: int) -> None:
    """The client sends the whole body before it reads, and may reuse the connection."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{header}\r\nContent-Length: {LARGE}\r\n\r\n".encode()
    async with serving() as port:
        output = await _exchange(port, [head + b"x" * LARGE, LAST])
    first, second = output.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"%d " % status) and json.loads(first.partition(b"\r\n\r\n")[2])["detail"]
    assert second.startswith(b"200 ")


async def _exchange(port: int, pieces: list[bytes]) -> bytes:
    """Send `pieces` in order; return the server's output until either side closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
    output = await _rest(reader)
    writer.close()
    return output


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """Read a connection's output until it closes."""
    output = bytearray()
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while data := await reader.read(65_536):
                output += data
    return bytes(output)


async def _drip(writer: asyncio.StreamWriter, slowly: bytes) -> None:
    for number in range(len(slowly)):
        await asyncio.sleep(0.05)
        writer.write(slowly[number : number + 1])


# Documents that are the same for every caller.

PATHS = ("/openapi.json", "/asyncapi.json")


async def ready() -> None:
    return None


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = application(ready)
    transport = httpx.ASGITransport(app=guarded(app, AccessToken("t")))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client


async def test_a_client_that_has_it_gets_nothing(http: httpx.AsyncClient) -> None:
    for path in PATHS:
        etag = (await http.get(path)).headers["etag"]
        for condition, status in ((etag, 304), (f'"x", {etag.removeprefix("W/")}', 304), ("*", 304), ('"x"', 200)):
            answer = await http.get(path, headers={"If-None-Match": condition})
            assert (answer.status_code, bool(answer.content)) == (status, status == 200)
            assert answer.headers["etag"] == etag


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip", True), ("br,gzip", True), ("gzip; q=0.5, br", True), ("br, deflate", False)]
)
async def test_gzip_is_sent_only_if_the_client_names_it(http: httpx.AsyncClient, accepted: str, packed: bool) -> None:
    answer = await http.get("/openapi.json", headers={"Accept-Encoding": accepted})
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert answer.headers["vary"] == "Accept-Encoding"


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


# Health of a ready process with warnings for the operator.

WARNING = "chat_bridge: 900 records of chat.message.ingested were deleted from the log before they were read"


@pytest.mark.parametrize(
    ("why", "warnings", "status", "body"),
    [
        (None, [], 200, {"status": "ready"}),
        (None, [WARNING], 200, {"status": "ready", "warnings": [WARNING]}),
        ("it waits", [WARNING], 503, {"status": "not ready", "why": "it waits", "warnings": [WARNING]}),
    ],
)
async def test_ready_tells_why_not_and_what_else_to_know(
    why: str | None, warnings: list[str], status: int, body: dict[str, object]
) -> None:
    async def not_ready() -> str | None:
        return why

    transport = httpx.ASGITransport(guarded(application(not_ready, lambda: warnings), Tokens()))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
        answer = await http.get("/health/ready")
    assert (answer.status_code, answer.json()) == (status, body)
