"""Access for a colleague in a browser: a key made on the page, sign-in with it, and sign-out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from reporting.pages.erasure import ERASED
from servicekit.web.auth import AnyOf, AnyOfLater
from standalone.programs import PROGRAMS
from tests.support.axe import violations
from tests.support.chromium import needs_chromium, opened, picture
from tests.support.perceivable import faint_texts
from tests.support.running_stack import RunningStack, Tokens, exchange, message, running_stack
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
        await admin.click("text=Operations")
        await admin.wait_for_url("**/dashboard/access")
        assert await admin.locator("nav.pages a").count() == 8, "the page has the navigation of the others"
        if not await admin.is_visible("input[name=name]"):  # open while there are no keys
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
            assert await page.inner_text("#project option:checked") == "acme / support"
            await looked_at(page, "overview")
            await page.click("text=Access")
            await page.wait_for_url("**/dashboard/access")
            assert await page.locator("text=Create a key").count() == 0
            assert await page.locator(f"text={name}").count() == 1
            await looked_at(page, "own-access")
            await page.click("text=Sign out")
            await page.wait_for_selector("#token")
            assert [one for one in complaints if "422" not in one and "401" not in one] == []


# An administrator erases a person on pages: looked up, confirmed by the typed id, followed until it is done.

BEN = "Ben & <b>co</b>"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def erasing_stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        for project in ("support", "sales"):
            await running.publish(
                *exchange("c1", "t1", project=project),
                message("q2", "c1", project=project, senderId=BEN, content="No, that is wrong."),
            )
        await running.publish(message("q1", "c1", tenant="globex", senderId=BEN))
        await running.quiet()
        yield running


async def contents(stack: RunningStack) -> dict[str, int]:
    rows = await stack.rows(
        f"select tenant, count(*) as n from reporting.messages where sender_id = '{BEN}' group by 1"
    )
    return {row["tenant"]: row["n"] for row in rows}


async def test_a_person_is_erased_in_two_clicks_and_a_confirmation(erasing_stack: RunningStack, browser: Any) -> None:
    async def looked_at(page: Any, name: str) -> None:
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("dark", "light"):
                await page.emulate_media(color_scheme=scheme)
                await picture(page, f"erase-{name}-{scheme}-{width}")
                assert await faint_texts(page) == [], (name, scheme, width)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert await violations(page) == [], name

    async with served(erasing_stack.app()) as url, opened(browser) as (page, complaints):
        await page.goto(url + "/?token=acme")
        await page.click("text=Operations")
        await page.fill("form[action='/dashboard/erase'] input[name=user]", BEN)
        await page.click("button:text-is('Look up')")
        assert "2 messages" in await page.inner_text("#erasure")
        assert "in 2 projects" in await page.inner_text("#erasure")
        await looked_at(page, "found")
        await page.click("text=Forbid training on this person")
        await page.wait_for_selector("text=is now forbidden")
        await erasing_stack.quiet()
        await page.reload()
        assert "are not used for training" in await page.inner_text("#training")
        await page.fill("input[name=again]", BEN + "?")
        await page.click("text=Erase Ben")
        await page.wait_for_selector("text=Nothing was erased")
        assert await contents(erasing_stack) == {"acme": 2, "globex": 1}
        await page.fill("input[name=again]", BEN)
        await page.click("text=Erase Ben")
        await page.wait_for_selector("text=Every service has erased")
        states = await page.locator("[data-service]").all_inner_texts()
        assert len(states) == 4 and all(one.startswith("erased, ") for one in states), states
        assert "user=" not in page.url
        await looked_at(page, "done")
        assert await contents(erasing_stack) == {"globex": 1}
        await page.goto(url + "/dashboard/access")
        assert "erased" in await page.inner_text("text=Access log >> xpath=..")
        assert [one for one in complaints if "404" not in one] == []


async def test_the_page_needs_the_scope_and_the_whole_tenant(erasing_stack: RunningStack) -> None:
    for token, tenant, status in (
        ("reviewer", "acme", 403), ("ann", "acme", 403), ("acme", "globex", 404), ("acme", "acme", 200),
        ("all", "globex", 200), (None, "acme", 401),
    ):  # fmt: skip
        async with erasing_stack.client(token) as http:
            found = await http.get("/dashboard/erase", params={"tenant": tenant, "user": BEN})
            assert found.status_code == status, (token, tenant, found.text)
            assert ('danger" disabled>' in found.text) == (status == 200), "a click before the script runs is lost"
            assert "<b>co</b>" not in found.text and ("1 message" in found.text) == (token == "all")
            for wrong in ({"tenant": "a/b"}, {"user": "x" * 300}, {"request": "\x00"}):
                answer = await http.get("/dashboard/erase", params={"tenant": tenant, "user": BEN} | wrong)
                assert (
                    answer.status_code == (400 if status == 200 else answer.status_code) and not answer.is_server_error
                )


def test_the_page_says_what_each_service_erases() -> None:
    assert ERASED.keys() == {program.name for program in PROGRAMS}
