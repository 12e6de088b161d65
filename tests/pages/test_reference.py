"""The HTTP reference at `/docs`: folded entries, links to models, a search field, and no need of a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from docgen.openapi import openapi
from servicekit.web.application import Surface, application, guarded
from servicekit.web.auth import AccessToken
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.perceivable import faint_texts
from tests.support.served import served

pytestmark = needs_chromium
PHONE = {"width": 390, "height": 844}


async def ready() -> None:
    return None


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url() -> AsyncIterator[str]:
    app = application(ready)
    app.openapi = openapi  # type: ignore[method-assign]
    async with served(guarded(app, AccessToken("t"), Surface())) as address:
        yield f"{address}/docs"


async def test_the_search_shows_the_entries_with_every_word(url: str, browser: Any) -> None:
    async with opened(browser) as (page, complaints):
        await page.goto(url)
        every = await page.locator("details").count()
        assert every > 100
        await page.get_by_label("Search").fill("RETRACT change the judgement")
        await expect(page.locator("details:visible")).to_have_count(1)
        await expect(page.locator("details:visible code").first).to_contain_text("/turns/{turn_id}/feedback")
        await expect(page.locator("section:visible")).to_have_count(1)
        await expect(page.locator("output")).to_have_text(f"1 of {every}")
        await page.get_by_label("Search").fill("")
        await expect(page.locator("details:visible")).to_have_count(every)
        await expect(page.locator("output")).to_have_text("")
        assert complaints == []


async def test_it_fits_a_phone_opened_and_closed(url: str, browser: Any) -> None:
    async with opened(browser, viewport=PHONE, color_scheme="dark") as (page, _):
        await page.goto(url)
        assert await page.evaluate("document.documentElement.scrollHeight") < 12_000
        await page.evaluate("document.querySelectorAll('details').forEach((entry) => { entry.open = true; })")
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert await faint_texts(page) == []


async def test_without_a_script_a_link_opens_its_model(url: str, browser: Any) -> None:
    async with opened(browser, java_script_enabled=False) as (page, complaints):
        await page.goto(url)
        await expect(page.get_by_label("Search")).to_be_hidden()
        route = page.locator("details", has_text="/feedback/search").first
        await route.locator("summary").click()
        await route.get_by_role("link", name="FoundFeedbacks").click()
        await expect(page.locator("#model-FoundFeedbacks")).to_be_visible()
        assert complaints == []
