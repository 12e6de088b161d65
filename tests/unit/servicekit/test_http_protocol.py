"""Clients that send malformed requests or do not read responses, on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import httpx
import pytest
from fastapi import Request, Response

from servicekit import metrics
from servicekit.web.application import Surface, application, guarded
from servicekit.web.auth import AccessToken, AnyOf, Caller
from servicekit.web.bodies import read_body
from servicekit.web.permissions import PUBLIC, needs
from servicekit.web.protocol import HEAD_LIMIT
from servicekit.web.server import HttpServer
from servicekit.web.settings import HttpSettings

JAVA_PROGRAM = Path(__file__).parents[2] / "support" / "Http2Offer.java"
BODY = "a rating, " * 500
LARGE = 4_000_000


class Visitor:
    """Accepts the token "visitor", which has no scope."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("ann", "acme") if token == "visitor" else None


@asynccontextmanager
async def serving(**settings: float) -> AsyncIterator[int]:
    async def ready() -> None:
        return None

    app = application(ready)

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        body = await request.body()
        return Response(body, headers={"X-Trailer": request.headers.get("x-trailer", "none")})

    @app.post("/typed")
    async def typed(request: Request) -> None:
        await read_body(request, {"application/json": bytes})

    @app.get("/large")
    async def large() -> Response:
        return Response(b"x" * LARGE)

    server = HttpServer("127.0.0.1", 0, HttpSettings.model_validate(settings))
    rows = {("POST", path): PUBLIC for path in ("/echo", "/typed")}
    rows |= {("GET", "/large"): PUBLIC, ("POST", "/closed"): needs(), ("POST", "/scoped"): needs("admin")}
    callers = AnyOf(AccessToken("t"), Visitor())
    limits = dict.fromkeys(("/closed", "/scoped", "/typed"), LARGE)
    await server.start(guarded(app, callers, Surface(rows, body_limits=limits)))
    try:
        yield server.port
    finally:
        await server.stop()


async def run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        out, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    return out.decode()


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_an_offer_of_http2_by_java_loses_no_body(framing: str) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    async with serving() as port:
        said = await run("java", str(JAVA_PROGRAM), f"http://127.0.0.1:{port}/echo", BODY, framing)
    assert said == f"200 {BODY}"


@pytest.mark.parametrize("option", [[], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"]])
async def test_an_offer_of_http2_by_curl_loses_no_body(option: list[str]) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    async with serving() as port:
        address = f"http://127.0.0.1:{port}/echo"
        said = await run("curl", "-sS", "--http2", *option, "-w", " %{http_version}", "-d", BODY, address)
    assert said == f"{BODY} 1.1"


async def test_requests_after_an_ignored_offer_are_answered() -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
    first = b"POST /echo HTTP/1.1\r\nHost: x\r\n" + offer + b"Content-Length: 5\r\n\r\nfirst"
    last = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast"
    async with serving() as port:
        said = await exchanged(port, [first + last[:10], last[10:]])
    assert [part.rpartition(b"\r\n")[2] for part in said.split(b"HTTP/1.1 200 OK")[1:]] == [b"first", b"last"]


async def test_trailers_count_as_the_head_does_and_are_no_headers() -> None:
    start = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    async with serving() as port:
        said = await exchanged(port, [start + b"X-Trailer: 1\r\n\r\n"], end=True)
        assert b" 200 " in said and b"x-trailer: none" in said and said.endswith(b"hello")
        before = memory()
        sent = await flooded(port, start, b"X-Flood: " + b"x" * 4_000 + b"\r\n", 60_000_000)
        assert sent < 60_000_000
        assert memory() - before < 30_000, "kilobytes"
        said = await exchanged(port, [start, b"X-Flood: 1\r\n" * (HEAD_LIMIT // 10)])
        assert said.startswith(b"HTTP/1.1 431 ") and b"connection: close" in said


async def test_clients_that_do_not_read_are_cut_off_and_lock_nobody_out() -> None:
    asked = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 20
    cut = metrics.HTTP_CLOSED.labels("not reading")._value.get()
    async with serving(connections=8, response_seconds=1.5) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port, limit=1) for _ in range(8)]
        for _, writer in idle:
            writer.write(asked)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
            async with asyncio.timeout(20):
                while (await http.get("/openapi.json")).status_code != 503:  # until all are at work
                    pass
                assert (await http.get("/health/live")).status_code == 200
                while metrics.HTTP_CLOSED.labels("not reading")._value.get() - cut < 8:
                    assert (await http.get("/health/live")).status_code == 200
                assert (await http.get("/openapi.json")).status_code == 200
        for _, writer in idle:
            writer.close()


async def test_a_client_that_reads_slowly_gets_its_whole_response() -> None:
    """The system's buffers hold a small part of the response, so the server waits for this client throughout."""
    async with serving(response_seconds=0.5, header_seconds=0.5) as port:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=client, limit=16_384)
        began = monotonic()
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = 0
        while data := await reader.read(65_536):
            got += len(data)
            await asyncio.sleep(0.03)
        assert got > LARGE and monotonic() - began > 1.5
        writer.close()


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
        said = await exchanged(port, [head + b"x" * LARGE, WHOLE])
    first, second = said.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"%d " % status) and json.loads(first.partition(b"\r\n\r\n")[2])["detail"]
    assert second.startswith(b"200 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /echo HTTP/1.1", b"200"),
        (b"POST /echo HTTP/1.0", b"200"),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: Chunked", b"200"),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip, chunked", b"400"),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked", b"400"),
        (b"POST /echo HTTP/2.0", b"400"),
        (b"POST /echo HTTP/0.9", b"400"),
        (b"CONNECT x:80 HTTP/1.1", b"400"),
    ],
)
async def test_only_requests_of_http_1_with_a_plain_or_chunked_body_are_read(head: bytes, status: bytes) -> None:
    body = b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in head.lower() else b""
    async with serving() as port:
        said = await exchanged(port, [head + b"\r\nHost: x\r\nConnection: close\r\n\r\n" + body])
    assert said.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(("size", "status"), [(64_000, b"200"), (70_000, b"431")])
async def test_a_head_has_64_kibibytes_at_most(size: int, status: bytes) -> None:
    fields = b"".join(b"X-Much: " + b"x" * 990 + b"\r\n" for _ in range(size // 1_000))
    async with serving() as port:
        said = await exchanged(port, [b"POST /echo HTTP/1.1\r\nHost: x\r\n" + fields + b"Connection: close\r\n\r\n"])
    assert said.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(("version", "interim"), [(b"1.1", 1), (b"1.0", 0)])
async def test_a_client_of_http_1_0_gets_no_interim_response(version: bytes, interim: int) -> None:
    head = b"POST /echo HTTP/%s\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n" % version
    async with serving() as port:
        said = await exchanged(port, [head + b"Content-Length: 5\r\n\r\n", b"hello"])
    assert said.count(b" 100 ") == interim and said.endswith(b"hello")


WHOLE = b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_a_refused_body_without_end_is_read_up_to_a_limit() -> None:
    start = b"POST /closed HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with serving() as port:
        assert await flooded(port, start, b"4000\r\n" + b"x" * 0x4000 + b"\r\n", 90_000_000) < 90_000_000


async def test_a_refused_body_that_stops_coming_ends_the_connection() -> None:
    async with serving(header_seconds=0.5) as port:
        began = monotonic()
        said = await exchanged(port, [b"POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"])
        assert said.startswith(b"HTTP/1.1 401 ") and 0.3 < monotonic() - began < 15


async def test_pipelined_requests_take_little_memory() -> None:
    """Megabytes of pipelined requests are sent while the responses are not read."""
    async with serving() as port:
        before = memory()
        sent = await flooded(port, b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", WHOLE[:-21] + b"\r\n" * 2, 20_000_000)
        assert sent < 20_000_000
        assert memory() - before < 60_000, "kilobytes"


async def exchanged(port: int, pieces: list[bytes], *, end: bool = False) -> bytes:
    """Send `pieces` in order; return the server's output until either side closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if end:
            writer.write_eof()
    async with asyncio.timeout(20):
        said = await reader.read()
    writer.close()
    return said


async def flooded(port: int, start: bytes, piece: bytes, limit: int) -> int:
    """Send `piece` repeatedly without reading, until the server reads nothing for a second; return the number of
    bytes sent."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    writer.write(start)
    sent = 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        while sent < limit:
            writer.write(piece * 16)
            async with asyncio.timeout(1):
                await writer.drain()
            sent += 16 * len(piece)
    writer.transport.abort()
    return sent


def memory() -> int:
    """Return the maximum memory of this process so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
