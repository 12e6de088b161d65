"""The audit in a browser: drawing answers, reviewing them by keyboard, and the figures that follow."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.support.running_stack import RunningStack, exchange, message
from tests.support.served import served

SCREENSHOTS = os.environ.get("SCREENSHOTS")


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium needed: apt-get install chromium")
async def test_a_reviewer_goes_through_the_drawn_answers_by_keyboard(stack: RunningStack) -> None:
    playwright = pytest.importorskip("playwright.async_api")
    for number, said in enumerate(("No, that is wrong.", "What is the price in euros?", "Where is the shop?")):
        conversation = f"audit {number}/ü"
        await stack.publish(*exchange(conversation, "t1"))
        await stack.publish(
            message("q2", conversation, content=said, occurredAt="2026-01-01T10:01:00Z"),
            message("a2", conversation, agent="bot", turn="t2", occurredAt="2026-01-01T10:01:05Z"),
        )
    await stack.quiet()
    async with served(stack.app()) as url, playwright.async_playwright() as started:
        browser = await started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 390, "height": 800})
        page.set_default_timeout(10_000)
        await page.goto(f"{url}/?token=all")
        await page.goto(f"{url}/dashboard/audit?at=acme/support&period=all")
        for part in ("document.documentElement", "document.querySelector('nav.pages')"):
            assert await page.evaluate(f"{part}.scrollWidth <= {part}.clientWidth"), part
        assert await page.get_by_text("There are no drawn answers left to review.").count() == 1
        # A form draws from the last 30 days; these answers are older.
        async with stack.client() as http:
            window = {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}
            answer = await http.post("/conversations/acme/support/audit/draws", json={"count": 50, **window})
        assert answer.json() == {"drawn": 3, "pending": 3}
        await page.reload()
        await page.get_by_role("link", name="Review the next answer").click()
        given = []
        for _ in range(3):
            await page.wait_for_url("**/dashboard/conversation?*audit=*")
            rejected = await page.get_by_text("No, that is wrong.").count()
            given.append("not_ok" if rejected else "neutral")
            here = page.url
            await page.keyboard.press("w" if rejected else "n")
            await page.wait_for_url(lambda one, here=here: one.partition("#")[0] != here.partition("#")[0])
            await stack.quiet()
        assert sorted(given) == ["neutral", "neutral", "not_ok"]
        await page.set_viewport_size({"width": 1280, "height": 800})
        await page.goto(f"{url}/dashboard/audit?at=acme/support&period=all")
        assert await page.get_by_text("1 of 1 right").count() == 1
        assert await page.get_by_text("0.0 per 100 answers").count() == 1
        published = "Of 43 rejections in published tests, 41 were right (85% to 99%)."
        assert await page.get_by_text(published).count() == 1
        if SCREENSHOTS:
            await page.screenshot(path=f"{SCREENSHOTS}/audit.png")
        await page.goto(f"{url}/dashboard/conversation?at=acme/support&id=audit%200/%C3%BC")
        assert await page.get_by_text(published).count() == 1, "shown with the one verdict of the machine"
        if SCREENSHOTS:
            await page.screenshot(path=f"{SCREENSHOTS}/verdict.png")
        await browser.close()
    rows = await stack.rows("select reaction from reporting.effective where origin = 'reviewer'")
    assert sorted(row["reaction"] for row in rows if row["reaction"]) >= ["neutral", "neutral", "not_ok"]
