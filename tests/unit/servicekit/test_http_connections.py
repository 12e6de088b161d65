"""Connections that send nothing, too slowly, or too many at once, on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import httpx
import pytest

from servicekit.web.application import Surface, application, guarded
from servicekit.web.auth import AccessToken
from servicekit.web.permissions import PUBLIC
from servicekit.web.protocol import DISCARD_LIMIT
from servicekit.web.server import HttpServer
from servicekit.web.settings import HttpSettings

WHOLE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


async def ready() -> None:
    return None


@asynccontextmanager
async def serving(hold: asyncio.Event | None = None, **settings: float) -> AsyncIterator[int]:
    app = application(ready)

    @app.get("/held")
    async def held() -> str:
        if hold is not None:
            await hold.wait()
        return "done"

    server = HttpServer("127.0.0.1", 0, HttpSettings.model_validate(settings))
    await server.start(guarded(app, AccessToken("t"), Surface({("GET", "/held"): PUBLIC})))
    try:
        yield server.port
    finally:
        await server.stop()


async def alive(port: int) -> int:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
        return (await http.get("/health/live")).status_code


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Read a connection's output until it closes."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), 20)
    return b""


async def test_half_open_connections_make_room_for_others(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(connections=16, header_seconds=60) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        for _, writer in idle[20:]:
            writer.write(b"GET /health/live HTT")
        assert await alive(port) == 200
        await asyncio.gather(*(ended(reader) for reader, _ in idle[:24]))
        assert not any(reader.at_eof() for reader, _ in idle[30:]), "no more were closed than had to be"
        for _, writer in idle:
            writer.close()
    lines = [line for line in "".join(capsys.readouterr()).splitlines() if "http_connections_ran_out" in line]
    assert len(lines) == 1
    assert "16" in lines[0] and "HTTP_CONNECTIONS" in lines[0]


SLOW_START = b"GET /" + b"x" * 1_000


@pytest.mark.parametrize(("sent", "slowly"), [(b"", SLOW_START), (WHOLE[:-2], b"X" * 1_000), (WHOLE, SLOW_START)])
async def test_a_head_that_never_ends_is_cut_off(sent: bytes, slowly: bytes) -> None:
    """A byte now and then does not extend the deadline, even after a complete request."""
    async with serving(header_seconds=0.5) as port:
        began = monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        drip = asyncio.create_task(_drip(writer, slowly))
        await ended(reader)
        drip.cancel()
        assert 0.3 < monotonic() - began < 15
        writer.close()


async def test_a_head_without_end_takes_no_memory() -> None:
    async with serving() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(WHOLE[:-2])
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 50_000_000:
                writer.write(b"X-Much: " + b"x" * 10_000 + b"\r\n")
                await writer.drain()
                sent += 10_000
        assert sent < 2 * DISCARD_LIMIT, "it was discarded, up to a limit, or lay in buffers of the sockets"
        writer.close()
        assert await alive(port) == 200


async def _drip(writer: asyncio.StreamWriter, slowly: bytes) -> None:
    for number in range(len(slowly)):
        await asyncio.sleep(0.05)
        writer.write(slowly[number : number + 1])


@pytest.mark.parametrize(
    "sent", [b"GET /health/live?" + b"x" * 65_600 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /\x00 HTTP/9\r\n\r\n"]
)
async def test_what_is_no_request_is_answered_in_json(sent: bytes) -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        head, _, body = (await ended(reader)).partition(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in head
    assert "cannot be read as an HTTP request" in json.loads(body)["detail"]


async def test_if_all_are_at_work_a_newcomer_is_refused_with_a_sentence() -> None:
    hold = asyncio.Event()
    async with (
        serving(hold, connections=8) as port,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", limits=httpx.Limits(max_connections=None), timeout=60
        ) as http,
    ):
        held = [asyncio.create_task(http.get("/held")) for _ in range(8)]
        async with asyncio.timeout(30):
            while (answer := await _try(port)) is None or answer.status_code != 503:
                await asyncio.sleep(0.02)
        assert await alive(port) == 200, "health is served on a connection of the reserve"
        assert answer.json() == {"detail": "Too many connections are open; send this again later."}
        hold.set()
        assert {one.status_code for one in await asyncio.gather(*held)} <= {200}


HELD = b"GET /held HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("sent", "responses"),
    [
        (b"", 0),
        (HELD, 0),
        (HELD + b"\r\n", 1),
        (HELD + b"\r\n" + WHOLE[:-2], 1),
        (HELD + b"\r\n" + WHOLE * 40, 41),
        (HELD + b"\r\n" + b"no request\r\n\r\n", 2),
        (HELD + b"Connection: close\r\n\r\n" + WHOLE, 1),
        (HELD + b"Content-Length: 5\r\n\r\nhello", 1),
        (HELD + b"Content-Length: 5\r\n\r\nhell", 0),
        (HELD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 0),
    ],
)
async def test_a_client_that_closes_its_side_gets_the_responses_to_its_complete_requests(
    sent: bytes, responses: int
) -> None:
    hold = asyncio.Event()
    async with serving(hold, header_seconds=60) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        assert await alive(port) == 200, "by then, the server has read the end"
        hold.set()
        assert (await ended(reader)).count(b"HTTP/1.1 ") == responses
        writer.close()


async def _try(port: int) -> httpx.Response | None:
    """Send a request on a new connection, which is closed at once if it is accepted."""
    with contextlib.suppress(httpx.HTTPError):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
            return await http.get("/openapi.json")
    return None
