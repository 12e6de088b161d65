"""The widget with points instead of thumbs, in Debian's Chromium, with all services in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.chromium import expect, needs_chromium, opened, picture
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.served import served

pytestmark = needs_chromium
PLACE = 'tenant="acme" project="support" conversation="c-rated" turn="t1"'
PAGE = (
    f'<agent-feedback-thumbs {PLACE} scale="5"></agent-feedback-thumbs>'
    f'<agent-feedback-thumbs {PLACE} scale="polite" worst="6" best="1"></agent-feedback-thumbs>'
)
FEEDBACK = "/conversations/acme/support/c-rated/turns/t1/feedback"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FEEDBACK_SCALES", '{"polite": {"worst": 6, "best": 1}}')
        async with running_stack(postgres_url) as running:
            await running.publish(*exchange("c-rated", "t1"))
            await running.quiet()
            yield running


async def held(stack: RunningStack) -> dict[str, Any]:
    await stack.quiet()
    async with stack.client() as http:
        return dict((await http.get(FEEDBACK)).json())


async def test_rate_say_why_reload_and_take_back(stack: RunningStack, browser: Any) -> None:
    async with served(stack.app()) as url, opened(browser) as (page, complaints):
        await page.context.add_cookies([{"name": "agent_feedback_token", "value": "all", "url": url}])

        async def show() -> tuple[Any, Any]:
            await page.goto(f"{url}/widget")
            await page.evaluate("(page) => document.body.insertAdjacentHTML('beforeend', page)", PAGE)
            answer, polite = (page.locator("agent-feedback-thumbs").nth(number) for number in (0, 1))
            return answer, polite

        answer, polite = await show()
        assert await answer.locator(".point").all_text_contents() == ["1", "2", "3", "4", "5"]
        assert await polite.locator(".point").all_text_contents() == ["6", "5", "4", "3", "2", "1"]
        await expect(polite.get_by_role("group", name="polite")).to_be_visible()

        await answer.get_by_role("button", name="4 / 5").click()
        await expect(answer.get_by_role("status")).to_have_text("Thank you.")
        await answer.get_by_role("textbox").press("Escape")
        await expect(answer.get_by_role("button", name="4 / 5")).to_be_focused()
        await answer.get_by_role("button", name="Say why").click()
        await answer.get_by_role("textbox").fill("Nearly.")
        await answer.get_by_role("button", name="Send").click()
        await expect(answer.get_by_role("status")).to_have_text("Thank you, noted.")
        await polite.get_by_role("button", name="5 / 6").click()
        await expect(polite.get_by_role("status")).to_have_text("Thank you.")
        await picture(page, "ratings")
        said = await held(stack)
        assert (said["reaction"], said["rating"], said["text"]) == ("ok", 4, "Nearly.")
        assert [(one["scale"], one["rating"], one["best_rating"]) for one in said["ratings"]] == [("polite", 5, 1)]

        answer, polite = await show()
        await expect(answer.get_by_role("button", name="4 / 5")).to_have_attribute("aria-pressed", "true")
        await expect(polite.get_by_role("button", name="5 / 6")).to_have_attribute("aria-pressed", "true")
        await polite.get_by_role("button", name="5 / 6").click()
        await expect(polite.get_by_role("status")).to_have_text("Taken back.")
        await expect(polite.get_by_role("button", name="5 / 6")).to_have_attribute("aria-pressed", "false")
        await expect(answer.get_by_role("button", name="4 / 5")).to_have_attribute("aria-pressed", "true")
        said = await held(stack)
        assert (said["rating"], said["ratings"]) == (4, [])
        assert complaints == []


async def test_a_thumb_is_not_a_point(stack: RunningStack, browser: Any) -> None:
    async with stack.client() as http:
        assert (await http.post(FEEDBACK, json={"reaction": "ok"})).status_code == 202
    await stack.quiet()
    async with served(stack.app()) as url, opened(browser) as (page, _):
        await page.context.add_cookies([{"name": "agent_feedback_token", "value": "all", "url": url}])
        await page.goto(f"{url}/widget")
        loaded = await page.evaluate(
            "(page) => new Promise((done) => { addEventListener('feedback-loaded', (event) => done(event.detail));"
            " document.body.insertAdjacentHTML('beforeend', page); })",
            PAGE.partition("</agent-feedback-thumbs>")[0],
        )
        assert (loaded["reaction"], loaded["rating"]) == (None, None)
        pressed = page.locator("agent-feedback-thumbs .point[aria-pressed=true]")
        await expect(pressed).to_have_count(0)
