"""The gateway's configuration in nginx, in front of the four services: each request reaches the right one."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
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
from servicekit.web.paths import template_of
from standalone.embedded.ports import free_port
from standalone.one_process.stack import PROGRAMS
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served

CONFIGURATION = (Path(__file__).parents[2] / "deploy" / "gateway.conf").read_text("utf-8")
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx needed: apt-get install nginx-light")
ID = "a%2Fturns%2Fb%3F;..%20%F0%9F%91%8D"
"""Id that a gateway which decodes paths would split."""
ALL = {"Authorization": "Bearer all"}
MIB = 1 << 20


@dataclass
class Seen:
    """Requests as received by the services: (service, method, path with query, headers)."""

    requests: list[tuple[str, str, str, Mapping[str, str]]] = field(default_factory=list)

    def beside(self, service: str, app: ASGIApp) -> ASGIApp:
        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                path = (scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")).decode()
                headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
                self.requests.append((service, scope["method"], path, headers))
            await app(scope, receive, send)

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
            guard = guarded(app, Tokens(), program.surface)
            services[program.name] = await parts.enter_async_context(served(seen.beside(program.name, guard)))
        address = await parts.enter_async_context(nginx(tmp_path_factory.mktemp("nginx"), services))
        yield Gateway(address, services, seen, stack)


@asynccontextmanager
async def nginx(folder: Path, services: Mapping[str, str]) -> AsyncIterator[str]:
    """Yield the address of an nginx that runs `CONFIGURATION`."""
    port = free_port()
    text = CONFIGURATION.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    for name, url in services.items():
        text = text.replace(f"server {name}:8080;", f"server {urlsplit(url).netloc};")
    assert ":8080" not in text
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    around = f"daemon off; {user} pid {folder}/pid; error_log stderr; events {{}}"
    around = f"daemon off; {user} pid {folder}/pid; error_log stderr; events {{}}"
    whole = f"{around} http {{ {temporary} access_log off; {text} }}"
    (folder / "nginx.conf").write_text(whole, "utf-8")
    process = await asyncio.create_subprocess_exec(
        str(NGINX), "-p", folder, "-c", folder / "nginx.conf", stderr=asyncio.subprocess.PIPE
    )
    address = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(20), httpx.AsyncClient() as http:
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


async def asked(gateway: Gateway, method: str, path: str, **sent: Any) -> httpx.Response:
    gateway.seen.requests.clear()
    async with httpx.AsyncClient(headers=ALL, timeout=30) as http:
        return await http.request(method, gateway.address + path, **sent)


@pytest.mark.parametrize(
    ("service", "method", "path"),
    [(one.name, method, template_of(path)) for one in PROGRAMS for method, path in one.surface.permissions],
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


def json_line(event: Any) -> str:
    return httpx.Request("POST", "http://x", json=event).content.decode()
