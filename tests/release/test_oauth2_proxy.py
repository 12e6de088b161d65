"""oauth2-proxy, the real program with the shipped configuration, between an OpenID provider and the services."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from reporting.access.keys import ApiKeys
from servicekit.clock import SystemClock
from servicekit.web.auth import AnyOf, AnyOfLater
from servicekit.web.issuers import IssuersFile
from servicekit.web.projects import ProjectSet
from servicekit.web.tokens import TokenAuthenticator
from tests.support.command import HANG_SECONDS
from tests.support.ports import free_port
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.served import served

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "deploy" / "oauth2-proxy" / "oauth2-proxy.cfg"
EXAMPLE = ROOT / "deploy" / "oauth2-proxy" / "issuers.toml"
PROVIDER = ROOT / "tests" / "support" / "openid_provider"
PROGRAMS = ROOT / ".agent-feedback" / "oauth2-proxy"
VERSION = "github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6"
LIFETIME = 8
"""Lifetime of the provider's tokens, in seconds."""
pytestmark = [
    pytest.mark.helm,
    pytest.mark.skipif(shutil.which("go") is None, reason="Go needed: it builds oauth2-proxy and an OpenID provider"),
]


@dataclass
class Provider:
    process: asyncio.subprocess.Process
    facts: Mapping[str, Any]

    async def next_person(self, email: str, *groups: str) -> None:
        """Sign in this person at the next visit."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{email} {' '.join(groups)}\n".encode())
        assert await self.process.stdout.readline() == b"queued\n"

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@dataclass
class Site:
    url: str
    provider: Provider
    services: str
    stack: RunningStack

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(base_url=self.url, follow_redirects=True, timeout=30, trust_env=False) as http:
            yield http


@pytest.fixture(scope="module")
def programs() -> Path:
    """Build both programs once; the first build downloads their sources and takes minutes."""
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    if not (PROGRAMS / "oauth2-proxy").exists():
        subprocess.run(["go", "install", VERSION], env={**os.environ, "GOBIN": str(PROGRAMS)}, check=True)
    if not (PROGRAMS / "openid_provider").exists():
        subprocess.run(["go", "build", "-o", PROGRAMS / "openid_provider", "."], cwd=PROVIDER, check=True)
    return PROGRAMS


@asynccontextmanager
async def provider(program: Path) -> AsyncIterator[Provider]:
    process = await asyncio.create_subprocess_exec(
        program, f"{LIFETIME}s", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    running = Provider(process, json.loads(await process.stdout.readline()))
    try:
        yield running
    finally:
        await running.stop()


def configured(folder: Path, port: int, services: str, facts: Mapping[str, Any]) -> Path:
    """Write the shipped configuration with the addresses of this test."""
    text = CONFIGURATION.read_text("utf-8")
    for name, value in {
        "oidc_issuer_url": facts["Issuer"],
        "client_id": facts["ClientID"],
        "redirect_url": f"http://127.0.0.1:{port}/oauth2/callback",
        "http_address": f"127.0.0.1:{port}",
        "upstreams": [services + "/"],
        "cookie_secure": False,
    }.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {json.dumps(value)}", text)
        assert count == 1, name
    path = folder / "oauth2-proxy.cfg"
    path.write_text(text, "utf-8")
    return path


@asynccontextmanager
async def proxy(program: Path, configuration: Path, url: str, secret: str) -> AsyncIterator[None]:
    environment = {"OAUTH2_PROXY_CLIENT_SECRET": secret, "OAUTH2_PROXY_COOKIE_SECRET": "s" * 32}
    process = await asyncio.create_subprocess_exec(
        program, "--config", configuration, env={**os.environ, **environment}, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(HANG_SECONDS), httpx.AsyncClient(trust_env=False) as http:
            while True:
                try:
                    assert (await http.get(f"{url}/ping")).status_code == 200
                    break
                except httpx.TransportError:
                    assert process.returncode is None, (await process.communicate())[1].decode()
                    await asyncio.sleep(0.05)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(postgres_url: str, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with AsyncExitStack() as parts:
        stack = await parts.enter_async_context(running_stack(postgres_url))
        for project in ("support", "sales", "secret"):
            await stack.publish(*(event | {"project": project} for event in exchange("c1", "t1")))
        await stack.quiet()
        openid = await parts.enter_async_context(provider(programs / "openid_provider"))
        folder, port = tmp_path_factory.mktemp("oauth2-proxy"), free_port()
        issuers = issuers_of(folder, openid.facts)
        authenticator = AnyOf(issuers, AnyOfLater(lambda: stack.stack.authenticators))
        services = await parts.enter_async_context(
            served(stack.app(authenticator, seconds=60, sign_in_url="/oauth2/start"))
        )
        url = f"http://127.0.0.1:{port}"
        configuration = configured(folder, port, services, openid.facts)
        await parts.enter_async_context(
            proxy(programs / "oauth2-proxy", configuration, url, openid.facts["ClientSecret"])
        )
        yield Site(url, openid, services, stack)


def issuers_of(folder: Path, facts: Mapping[str, Any]) -> TokenAuthenticator:
    """Return the authenticator of the shipped file's first issuer, with the addresses of this test."""
    text = EXAMPLE.read_text("utf-8")
    assert len(tomllib.loads(text)["issuer"]) == 2
    text = text.partition("# Visitors")[0]
    for name, value in {
        "issuer": facts["Issuer"],
        "audience": facts["ClientID"],
        "jwks_url": facts["Issuer"] + "/.well-known/jwks.json",
    }.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {json.dumps(value)}\n", text)
        assert count == 1, name
    path = folder / "issuers.toml"
    path.write_text(text.replace("[[issuer.group]]", "leeway_seconds = 0\n[[issuer.group]]", 1), "utf-8")
    [issuer] = IssuersFile.read(path).issuer
    return TokenAuthenticator(issuer, SystemClock())


async def key_of(site: Site, name: str) -> str:
    keys = ApiKeys((await site_pool(site)), SystemClock())
    maker = ProjectSet("acme", ("*",)).member("test", frozenset({"read"}))
    return (await keys.add(name, ["read"], ["acme/support"], "1", maker)).secret


async def site_pool(site: Site) -> Any:
    [keys] = site.stack.stack.authenticators
    return keys._pool  # type: ignore[attr-defined]


async def test_two_people_in_two_groups_see_two_sets_of_projects(site: Site) -> None:
    for email, group, projects, roles in (
        ("lea@acme.example", "support-leads", ["sales", "support"], ["read", "review"]),
        ("ada@acme.example", "feedback-admins", None, ["admin", "export", "operate", "read", "review"]),
    ):
        async with site.browser() as http:
            refused = await http.get("/dashboard/feedback")
            assert refused.status_code == 401
            assert 'href="/oauth2/start?rd=%2Fdashboard%2Ffeedback"' in refused.text
            await site.provider.next_person(email, group)
            page = await http.get("/oauth2/start?rd=%2Fdashboard%2Ffeedback")
            assert (page.status_code, page.url.path) == (200, "/dashboard/feedback")
            caller = (await http.get("/access/caller")).json()
            assert caller == {
                "subject": f"member:{email}",
                "tenant": "acme",
                "projects": projects,
                "scopes": roles,
                "is_person": False,
            }
            status = 200 if projects is None else 404
            secret = await http.get("/dashboard/conversation?id=c1&at=acme/secret")
            assert secret.status_code == status
            foreign = await http.post("/sign-out", headers={"Origin": "https://evil.test"})
            assert foreign.status_code == 403, "the session of oauth2-proxy changes nothing for another site's page"


async def test_a_person_without_a_group_has_no_access(site: Site) -> None:
    async with site.browser() as http:
        await site.provider.next_person("eve@acme.example", "others")
        assert (await http.get("/oauth2/start?rd=%2Fdashboard%2Ffeedback")).status_code == 401


async def test_an_expired_token_is_refused(site: Site) -> None:
    async with site.browser() as http:
        await site.provider.next_person("max@acme.example", "support-leads")
        assert (await http.get("/oauth2/start?rd=%2Faccess%2Fcaller")).status_code == 200
        async with asyncio.timeout(HANG_SECONDS):
            while (await http.get("/access/caller")).status_code == 200:
                await asyncio.sleep(0.2)
        assert (await http.get("/access/caller")).status_code == 401


async def test_keys_pass_and_open_the_pages_while_the_provider_is_down(site: Site) -> None:
    key = await key_of(site, "kim")
    search = "/conversations/acme/support/feedback/search"
    bearer = {"Authorization": f"Bearer {key}"}
    async with site.browser() as http:
        assert (await http.post(search, json={}, headers=bearer)).status_code == 200
        await site.provider.stop()
        assert (await http.post(search, json={}, headers=bearer)).status_code == 200
        assert (await http.post(search, json={}, headers={"Authorization": "Bearer afk_x"})).status_code == 401
        sign_in = {"token": key, "next": "/dashboard/feedback"}
        page = await http.post("/sign-in", data=sign_in, headers={"Origin": site.url})
        assert (page.status_code, page.url.path) == (200, "/dashboard/feedback")
        assert (await http.get("/access/caller")).json()["subject"] == "member:kim"
