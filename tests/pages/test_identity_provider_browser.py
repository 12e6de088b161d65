"""Sign-in in a browser with a certified OpenID provider, and sign-out from both."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from servicekit.web.auth import AnyOf, AnyOfLater
from servicekit.web.server import HttpServer
from tests.support.axe import page_packages, violations
from tests.support.chromium import launched, needs_chromium, opened, picture
from tests.support.command import HANG_SECONDS
from tests.support.openid_provider import OpenIdProvider
from tests.support.perceivable import faint_texts
from tests.support.running_stack import Tokens, exchange, running_stack

pytestmark = needs_chromium
SECRET = "s3cret%+/ of the client"
GROUPS = """[[group]]
value = "leads"
role = "reviewer"
projects = ["acme/support"]
"""


@asynccontextmanager
async def node_provider(redirect_uri: str) -> AsyncIterator[str]:
    """Run oidc-provider for a client with this redirect URI; yield its address."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node for the OpenID provider")
    script = Path(__file__).parent / "openid_provider.mjs"
    process = await asyncio.create_subprocess_exec(
        *(node, str(script), str(page_packages()), redirect_uri, SECRET),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(HANG_SECONDS):
            yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def test_a_person_signs_in_with_a_certified_provider(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HttpServer("127.0.0.1", 0)
    here = f"http://localhost:{server.port}"
    async with node_provider(f"{here}/sign-in/provider/answer") as issuer, launched() as browser:
        file = OpenIdProvider(url=issuer).file(tmp_path, here, groups=GROUPS)
        monkeypatch.setenv("REPORTING_IDENTITY_PROVIDER", str(file))
        monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
        async with running_stack(postgres_url) as stack:
            await stack.publish(*exchange("c1", "t1"))
            await stack.quiet()
            await server.start(stack.app(AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators)), seconds=60))
            try:
                for scheme, width in (("light", 1280), ("dark", 390)):
                    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
                    async with opened(browser, **look) as (page, complaints):
                        await signs_in(page, here, width)
                        assert [one for one in complaints if here in one] == []
            finally:
                await server.stop()


async def signs_in(page: Any, here: str, width: int) -> None:
    async def looked_at(name: str) -> None:
        await picture(page, f"provider-{name}-{width}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert await faint_texts(page) == []
        assert await violations(page) == [], name

    async def passes_the_provider(person: str) -> None:
        await page.fill("input[name=login]", person)
        await page.fill("input[name=password]", "any")
        await page.click("button[type=submit]")
        await page.click("button[type=submit]")  # consent

    await page.goto(f"{here}/dashboard/feedback?at=acme/support")
    await looked_at("sign-in")
    await page.click("text=Sign in with Acme & Co")
    await passes_the_provider("strangers")
    await page.wait_for_selector("text=You have no access")
    await looked_at("refused")
    await page.context.clear_cookies()
    await page.click("text=Sign in again")
    await passes_the_provider("leads")
    await page.wait_for_selector("main[data-zone]")
    assert page.url.startswith(f"{here}/dashboard/feedback?at=acme")
    await page.click("text=Access")
    assert await page.inner_text("section.card:last-of-type h2") == "leads@example.org"
    await looked_at("own-access")
    await page.click("text=Sign out")
    await page.wait_for_selector("text=You are signed out here")
    await looked_at("signed-out")
    await page.click("text=Sign out of Acme & Co")
    await page.click("button[name=logout]")
    await page.wait_for_selector("#password")
    assert page.url == f"{here}/"
