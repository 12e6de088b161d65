"""The alerts page in Chromium: a rule is saved without a script of its own, and the page fits a phone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import uvicorn

from tests.pages.test_alerts_page import Site
from tests.support.chromium import needs_chromium
from tests.support.receiver import receiver
from tests.support.reporting_client import application
from tests.support.reporting_events import Take, feedback

pytestmark = needs_chromium


@asynccontextmanager
async def served_pages(site: Site) -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(application(site.routers), port=0, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


async def test_a_rule_is_saved_and_a_channel_tested(browser: Any, read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        *(feedback(f"f{n}", kind="explicit", reaction="not_ok", turn=f"t{n}", user=f"u{n}", at=n) for n in range(60))
    )
    complaints: list[str] = []
    async with receiver() as there:
        site = Site(read_models)
        await site.set_channels(there)
        async with served_pages(site) as url:
            page = await browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(30_000)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
            await page.goto(f"{url}/?token=all")
            await page.click("nav.pages >> text=Alerts")
            await page.click("text=Add: satisfaction is below a level")
            form = page.locator("form:has(input[value=satisfaction_below])")
            await form.locator("input[name=name]").fill("low")
            await form.get_by_label("team").check()
            await form.get_by_role("button", name="Save the rule").click()
            await page.wait_for_selector("text=The rule low was saved.")
            await site.evaluator.evaluate()
            await page.click("text=Send a test")
            await page.wait_for_selector("text=The channel team accepted the test message.")
            assert len(there.at("/team-secret")) == 1
            await page.goto(f"{url}/dashboard/alerts?at=acme/support")
            for width in (1280, 390):
                await page.set_viewport_size({"width": width, "height": 900})
                for scheme in ("light", "dark"):
                    await page.emulate_media(color_scheme=scheme)
                    assert await page.evaluate("document.documentElement.scrollWidth") <= width
            await page.click("text=Show the turns")
            assert await page.locator("ol.found > li").count() == 50  # the first page of 60 rejected turns
            await page.close()
    assert complaints == []
