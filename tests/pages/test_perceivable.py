"""Every page in light and dark: enough contrast, every control reachable by Tab, visible focus, nothing that axe-core
finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.axe import violations
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.perceivable import faint_texts, tab_stops
from tests.support.running_stack import RunningStack, exchange, message, running_stack
from tests.support.served import served

pytestmark = needs_chromium
CONVERSATION = "/dashboard/conversation?at=acme/support&id=c1&turn=t1&period=all"
PAGES = (
    "/",
    "/?period=7d",
    "/dashboard/feedback",
    "/dashboard/conversation?at=acme/support&conversation_id=c1",
    "/dashboard/compare",
    "/dashboard/compare?dimension=version&a=1&b=2",
    "/dashboard/sessions",
    "/dashboard/accuracy",
    "/dashboard/issues",
    "/dashboard/issues?state=all",
    "/dashboard/alerts",
    "/dashboard/access",
    "/dashboard/review?period=all",
    CONVERSATION,
    CONVERSATION + "&queue=1&after={feedback_id}&feedback={feedback_id}",
    "/dashboard/nothing",
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        await running.publish(
            *exchange("c1", "t1", agent="bot"),
            message("q2", "c1", content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
        )
        await running.quiet()
        body = {"reaction": "not_ok", "text": "Not what I asked.", "tags": ["wrong"], "correction": "Leipzig."}
        async with running.client() as http:
            answer = await http.post("/conversations/acme/support/c1/turns/t1/feedback", json=body)
            assert answer.status_code == 202, answer.text
        await running.quiet()
        yield running


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_of_the_dashboard(stack: RunningStack, browser: Any, scheme: str) -> None:
    async with served(stack.app()) as url, opened(browser, color_scheme=scheme) as (page, _):
        await page.goto(url)
        assert await faint_texts(page) == []
        assert len(await tab_stops(page)) == 3, "name, key, sign in"
        assert await violations(page) == []
        await page.fill("#token", "all")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("main[data-zone]")
        [cookie] = [one for one in await page.context.cookies() if one["value"] == "all"]
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Lax", False)
        [row] = await stack.rows("select feedback_id from reporting.feedbacks where origin = 'user'")
        for path in PAGES:
            await page.goto(url + path.replace("{feedback_id}", str(row["feedback_id"])))
            assert await faint_texts(page) == [], path
            assert await violations(page) == [], path
            await tab_stops(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_thumbs(stack: RunningStack, browser: Any, scheme: str) -> None:
    async with served(stack.app()) as url, opened(browser, color_scheme=scheme) as (page, _):
        await page.context.add_cookies([{"name": "agent_feedback_token", "value": "all", "url": url}])
        await page.goto(f"{url}/widget")
        await page.get_by_role("button", name="Start a conversation").click()
        first = page.locator("agent-feedback-thumbs").first
        await first.get_by_role("button", name="Bad answer").click()
        await first.get_by_role("button", name="Wrong").click()
        await expect(first.get_by_role("status")).to_have_text("Thank you.")
        assert await faint_texts(page) == []
        assert 'textarea. ""' in await tab_stops(page)
