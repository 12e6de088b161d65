"""Access for a colleague in a browser: a key made on the page, sign-in with it, and sign-out."""

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
async def test_a_colleague_gets_a_key_and_signs_in_with_it(
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
        assert await admin.locator("nav.pages a").count() == 9, "the page has the navigation of the others"
        await admin.click("text=Create a key")
        await admin.fill("input[name=name]", name)
        await admin.click("text=Create, and show the key")
        key = await admin.input_value("#new-key")
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
            await page.goto(url + "/dashboard/feedback")
            assert await faint_texts(page) == []
            await looked_at(page, "sign-in")
            await page.fill("#name", name)
            await page.fill("#token", "afk_wrong")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("[role=alert]")
            await page.fill("#name", name)
            await page.fill("#token", key)
            await page.keyboard.press("Enter")
            await page.wait_for_selector("main[data-zone]")
            assert page.url == url + "/dashboard/feedback"
            assert await page.inner_text(".where") == "acme / support"
            await looked_at(page, "overview")
            await page.click("text=Access")
            assert await page.locator("text=Create a key").count() == 0
            assert await page.locator(f"text={name}").count() == 1
            await looked_at(page, "own-access")
            await page.click("text=Sign out")
            await page.wait_for_selector("#token")
            assert [one for one in complaints if "422" not in one and "401" not in one] == []
