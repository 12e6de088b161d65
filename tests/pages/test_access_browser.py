"""Access for a colleague in a browser: two clicks for the link, then a password, sign-in and sign-out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from servicekit.web.auth import AnyOf, AnyOfLater
from tests.support.axe import violations
from tests.support.chromium import needs_chromium, opened, picture
from tests.support.perceivable import faint_texts
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served

pytestmark = needs_chromium


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        await running.publish(*exchange("c1", "t1", agent="bot"))
        await running.quiet()
        yield running


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
async def test_a_colleague_gets_access_in_two_clicks(
    stack: RunningStack, browser: Any, scheme: str, width: int
) -> None:
    async def looked_at(page: Any, name: str) -> None:
        await picture(page, f"{name}-{width}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, name
        if name == "overview":
            return
        assert await violations(page) == [], name

    name = f"ann-{width}@example.org"
    app = stack.app(AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators)))
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    async with served(app) as url, opened(browser, **look) as (admin, _):
        await admin.goto(url + "/?token=all")
        await admin.click("text=Access")
        assert await admin.locator("nav.pages a").count() == 10, "the page has the navigation of the others"
        await admin.fill("input[name=name]", name)
        await admin.click("text=Add, and show the link")
        link = await admin.input_value("#new-link")
        assert await faint_texts(admin) == []
        log = admin.get_by_role("region", name="Access log")
        sides = "cells => cells.map(one => getComputedStyle(one).textAlign)"
        for cells in ("thead th", "tbody td"):
            found = await log.locator(cells).evaluate_all(sides)
            assert found and set(found) <= {"left", "start"}, (cells, found)
        lines = (
            "one => { const r = document.createRange(); r.selectNodeContents(one); return r.getClientRects().length }"
        )
        assert await log.locator("tbody td").first.evaluate(lines) == 1, "a time stays in one line"
        await looked_at(admin, "access")
        async with opened(browser, **look) as (page, complaints):
            await page.goto(link)
            assert await faint_texts(page) == []
            await looked_at(page, "set-password")
            await page.fill("#password", "correct horse")
            await page.fill("#again", "correct horse")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("main[data-zone]")
            assert await page.inner_text(".where") == "acme / support"
            await looked_at(page, "overview")
            await page.click("text=Access")
            assert await page.locator("text=Add a colleague").count() == 0
            await page.click("text=Change the password")
            await looked_at(page, "own-access")
            await page.click("text=Sign out")
            await page.wait_for_selector("#password")
            await looked_at(page, "sign-in")
            await page.fill("#name", name)
            await page.fill("#password", "wrong horse")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("[role=alert]")
            await page.fill("#name", name)
            await page.fill("#password", "correct horse")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("main[data-zone]")
            assert [one for one in complaints if "422" not in one and "401" not in one] == []
