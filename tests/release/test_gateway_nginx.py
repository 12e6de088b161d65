"""The gateway's configuration in nginx, in front of the four services: each request reaches the right one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from starlette.types import ASGIApp, Receive, Scope, Send

from servicekit.web.application import add_routes, application, guarded
from standalone.programs import PROGRAMS
from tests.support.ports import free_port
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served
from tests.support.waits import PATIENCE_SECONDS

CONFIGURATION = (Path(__file__).parents[2] / "deploy" / "gateway.conf").read_text("utf-8")
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx needed: apt-get install nginx-light")
ID = "a%2Fturns%2Fb%3F;..%20%F0%9F%91%8D"
"""Id that a gateway which decodes paths would split."""
PROXY = "127.0.0.3"
"""Address of a trusted proxy in front of the gateway."""
SHORT = {"client_header_timeout": 1, "client_body_timeout": 1, "send_timeout": 4}
"""Deadlines in seconds, so that no test waits for those of the configuration."""
ALL = {"Authorization": "Bearer all"}
MIB = 1 << 20
TURN = "/conversations/acme/support/c/turns/t"


@dataclass
class Seen:
    """Requests as received by the services: (service, method, path with query, headers)."""

    requests: list[tuple[str, str, str, Mapping[str, str]]] = field(default_factory=list)
    in_progress: int = 0

    def beside(self, service: str, app: ASGIApp) -> ASGIApp:
        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                path = (scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")).decode()
                headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
                self.requests.append((service, scope["method"], path, headers))
            self.in_progress += 1
            try:
                await app(scope, receive, send)
            finally:
                self.in_progress -= 1

        return noted


@dataclass
class Gateway:
    address: str
    services: Mapping[str, str]
    seen: Seen
    stack: RunningStack


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateway(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """Run nginx with the deployed configuration, except for the addresses, in front of services with a port each."""
    async with AsyncExitStack() as parts:
        stack, seen = await parts.enter_async_context(running_stack(postgres_url)), Seen()
        services: dict[str, str] = {}
        for program in PROGRAMS:
            app = application(stack.stack.services[program.name].not_ready)
            add_routes(app, stack.stack.services[program.name].routers)
            guard = guarded(app, Tokens())
            services[program.name] = await parts.enter_async_context(served(seen.beside(program.name, guard)))
        address = await parts.enter_async_context(nginx(tmp_path_factory.mktemp("nginx"), services))
        yield Gateway(address, services, seen, stack)


@asynccontextmanager
async def nginx(folder: Path, services: Mapping[str, str]) -> AsyncIterator[str]:
    """Yield the address of an nginx that runs `CONFIGURATION`."""
    port = free_port()
    text = CONFIGURATION.replace("listen 8080 ", f"listen 127.0.0.1:{port} ")
    text = text.replace("    default 0;\n", f"    default 0;\n    {PROXY} 1;\n")
    for deadline, seconds in SHORT.items():
        text, count = re.subn(rf"\b{deadline} \d+s;", f"{deadline} {seconds}s;", text)
        assert count == 1, deadline
    for name, url in services.items():
        text = text.replace(f"server {name}:8080;", f"server {urlsplit(url).netloc};")
    assert ":8080" not in text
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    around = f"daemon off; {user} pid {folder}/pid; error_log stderr; events {{ worker_connections 4096; }}"
    whole = f"{around} http {{ {temporary} access_log off; {text} }}"
    (folder / "nginx.conf").write_text(whole, "utf-8")
    process = await asyncio.create_subprocess_exec(
        str(NGINX), "-p", folder, "-c", folder / "nginx.conf", stderr=asyncio.subprocess.PIPE
    )
    address = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), httpx.AsyncClient() as http:
            while True:
                try:
                    assert (await http.get(f"{address}/gateway/health")).status_code == 204
                    break
                except httpx.TransportError:
                    assert process.returncode is None, (await process.communicate())[1].decode()
                    await asyncio.sleep(0.05)
        yield address
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def asked(gateway: Gateway, method: str, path: str, *, clear: bool = True, **sent: Any) -> httpx.Response:
    if clear:
        gateway.seen.requests.clear()
    async with httpx.AsyncClient(headers=ALL, timeout=30) as http:
        return await http.request(method, gateway.address + path, **sent)


@pytest.mark.parametrize(
    ("service", "method", "path"),
    [(one.name, route.method, route.path_format) for one in PROGRAMS for route in one.routes],
)
async def test_every_route_arrives_as_it_was_sent(gateway: Gateway, service: str, method: str, path: str) -> None:
    """The response is the same as without the gateway."""
    target = re.sub(r"\{(\w+)\}", lambda name: "acme" if name[1] in ("tenant", "project") else ID, path) + "?a=b%2Fc"
    through = await asked(gateway, method, target)
    assert [(one[0], one[1], one[2]) for one in gateway.seen.requests] == [(service, method, target)]
    async with httpx.AsyncClient(headers=ALL, timeout=30) as http:
        assert (await http.request(method, gateway.services[service] + target)).status_code == through.status_code


async def test_headers_arrive_and_hop_by_hop_ones_do_not(gateway: Gateway) -> None:
    sent = {
        "Host": "feedback.example:8443",
        "Connection": "close",
        "X-Forwarded-Proto": "https",
        "traceparent": "00-1-2-3",
    }
    await asked(gateway, "GET", "/conversations/acme/support/c/turns/t/metadata", headers=sent)
    [(_, _, _, headers)] = gateway.seen.requests
    assert headers["authorization"] == "Bearer all"
    assert headers["host"] == "feedback.example:8443"
    assert headers["x-forwarded-proto"] == "http", "what a caller says of how it came is not believed"
    assert headers["traceparent"] == "00-1-2-3"
    assert "connection" not in headers


@pytest.mark.parametrize(
    ("client", "claimed", "address", "scheme"),
    [
        ("127.0.0.1", "9.9.9.9", "127.0.0.1", "http"),
        (PROXY, "9.9.9.9, 8.8.8.8", "8.8.8.8", "https"),
        (PROXY, "2001:db8::1", "2001:db8::1", "https"),
        (PROXY, "<script>", PROXY, "https"),
    ],
)
async def test_only_a_trusted_proxy_says_who_calls(
    gateway: Gateway, client: str, claimed: str, address: str, scheme: str
) -> None:
    gateway.seen.requests.clear()
    forged = {"X-Forwarded-For": claimed, "X-Forwarded-Proto": "https"}
    async with httpx.AsyncClient(headers=ALL, transport=httpx.AsyncHTTPTransport(local_address=client)) as http:
        await http.get(gateway.address + "/conversations/acme/support/c/turns/t/metadata", headers=forged)
    [(_, _, _, headers)] = gateway.seen.requests
    assert (headers["x-forwarded-for"], headers["x-forwarded-proto"]) == (address, scheme)


async def test_a_slow_head_is_cut_off_and_reaches_no_service(gateway: Gateway) -> None:
    gateway.seen.requests.clear()
    reader, writer = await connected(gateway)
    writer.write(b"GET /openapi.json HTTP/1.1\r\n")
    drip = asyncio.create_task(dripped(writer, b"X-Slow: 1\r\n" * 100))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await rest(reader)
    drip.cancel()
    writer.close()
    assert not gateway.seen.requests


async def test_a_slow_body_waits_at_the_gateway(gateway: Gateway) -> None:
    gateway.seen.requests.clear()
    head = f"POST {TURN}/feedback HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nConnection: close\r\n"
    head += "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    stalled, stalled_writer = await connected(gateway)
    stalled_writer.write(head.format(1_000).encode() + b'{"reaction"')
    body = b'{"reaction": "neither"}'
    reader, writer = await connected(gateway)
    writer.write(head.format(len(body)).encode())
    await dripped(writer, body[:-1])
    assert not gateway.seen.requests, "the body is incomplete"
    writer.write(body[-1:])
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await rest(reader)).startswith(b"HTTP/1.1 400 ")
        assert not (await rest(stalled)).startswith(b"HTTP/1.1 2"), "cut off by client_body_timeout"
    assert len(gateway.seen.requests) == 1
    for one in (writer, stalled_writer):
        one.close()


async def test_slow_readers_occupy_no_service_and_are_cut_off(gateway: Gateway) -> None:
    """90 connections that request megabytes and read some 2 KB a second."""
    connections = [await connected(gateway, receive_buffer=4_096) for _ in range(90)]
    readers = []
    for reader, writer in connections:
        writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        readers.append(asyncio.create_task(slowly(reader)))
    async with asyncio.timeout(60):
        while gateway.seen.in_progress or len(gateway.seen.requests) < len(readers):
            # On a loaded machine, this request may take longer than the gateway's timeout of one second.
            with contextlib.suppress(httpx.RemoteProtocolError):
                assert (await asked(gateway, "GET", "/openapi.json", clear=False)).status_code == 200
        assert not any(task.done() for task in readers), "they still read"
        await asyncio.gather(*readers)
    for _, writer in connections:
        writer.close()


async def test_one_client_cannot_take_all_connections(gateway: Gateway) -> None:
    head = b"POST /ingest/acme/support/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
    waiting = [await connected(gateway) for _ in range(129)]
    for _, writer in waiting:
        writer.write(head)
    refused = [asyncio.create_task(reader.readexactly(12)) for reader, _ in waiting]
    done, _ = await asyncio.wait(refused, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    assert {task.result() for task in done} == {b"HTTP/1.1 429"}
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(local_address="127.0.0.4")) as http:
        assert (await http.get(gateway.address + "/openapi.json")).status_code == 200
    for task in refused:
        task.cancel()
    await asyncio.gather(*refused, return_exceptions=True)
    for _, writer in waiting:
        writer.close()


async def test_a_conversation_goes_through_all_services(gateway: Gateway) -> None:
    lines = "\n".join(json_line(event) for event in exchange("c-1", "t-1"))
    ndjson = {"Content-Type": "application/x-ndjson"}
    taken = await asked(gateway, "POST", "/ingest/acme/support/events", content=lines, headers=ndjson)
    assert taken.status_code == 200, taken.text
    await gateway.stack.quiet()
    turn = "/conversations/acme/support/c-1/turns/t-1"
    assert (await asked(gateway, "POST", f"{turn}/feedback", json={"reaction": "ok", "user_id": "ann"})).is_success
    await gateway.stack.quiet()
    assert (await asked(gateway, "GET", f"{turn}/feedback?user_id=ann")).json()["reaction"] == "ok"
    assert (await asked(gateway, "GET", f"{turn}/metadata")).json()["user_feedback_status"] == "accepted"
    page = await asked(gateway, "GET", "/", follow_redirects=True)
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert (await asked(gateway, "GET", "/widget.js")).status_code == 200


@pytest.mark.parametrize(("size", "status"), [(8 * MIB, 200), (8 * MIB + 1, 413)])
@pytest.mark.parametrize("chunked", [False, True])
async def test_bodies_have_the_size_that_the_services_take(
    gateway: Gateway, size: int, status: int, chunked: bool
) -> None:
    line = (json_line(next(iter(exchange("c-2", "t-1")))) + "\n").encode()
    body = line + b" " * (size - len(line))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), MIB):
            yield body[start : start + MIB]

    found = await asked(
        gateway,
        "POST",
        "/ingest/acme/support/events",
        content=pieces() if chunked else body,
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert found.status_code == status, found.text[:300]


@pytest.mark.parametrize("size", [1_000, 20_000])
async def test_long_tokens_arrive(gateway: Gateway, size: int) -> None:
    await asked(gateway, "GET", "/conversations/acme/support/c/turns/t/metadata", headers={"X-Long": "x" * size})
    [(_, _, _, headers)] = gateway.seen.requests
    assert len(headers["x-long"]) == size


@pytest.mark.parametrize("path", ["/metrics", "/health/ready", "/health/live", "/metrics?x=1", "//metrics"])
async def test_what_each_service_has_of_its_own_stays_inside(gateway: Gateway, path: str) -> None:
    answer = await asked(gateway, "GET", path)
    assert answer.status_code == 404 and "agent_feedback" not in answer.text


async def connected(
    gateway: Gateway, receive_buffer: int | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    client = socket.socket()
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.setblocking(False)
    address = urlsplit(gateway.address)
    await asyncio.get_running_loop().sock_connect(client, (address.hostname, address.port))
    return await asyncio.open_connection(sock=client, limit=1_024)


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Read a connection's output until it closes."""
    output = bytearray()
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            output += data
    return bytes(output)


async def slowly(reader: asyncio.StreamReader) -> None:
    """Read 2 KB a second until the connection closes."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(1_024):
            await asyncio.sleep(0.5)


async def dripped(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send a byte every 50 ms."""
    for number in range(len(data)):
        writer.write(data[number : number + 1])
        await asyncio.sleep(0.05)


def json_line(event: Any) -> str:
    return httpx.Request("POST", "http://x", json=event).content.decode()
