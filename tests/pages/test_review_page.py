"""The review page: queues of verdicts without a review, gone through by keyboard, with undo and the number left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from servicekit.db.database import Database
from tests.support.chromium import expect, needs_chromium, opened, picture
from tests.support.hand_clock import FixedClock
from tests.support.perceivable import faint_texts
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback
from tests.support.running_stack import RunningStack, exchange, message, running_stack
from tests.support.served import served

REVIEW = "/dashboard/review?at=acme/support&period=all&agent_id="
"""Queue of an agent: each test has agents of its own."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


async def judged(stack: RunningStack, agent: str, *conversations: str) -> None:
    """Publish conversations in which a person rejects the first answer; the machine judges that."""
    for number, conversation in enumerate(conversations):
        await stack.publish(*exchange(conversation, "t1", agent=agent))
        await stack.publish(
            message("q2", conversation, content="No, that is wrong.", occurredAt=f"2026-01-01T10:0{number + 1}:00Z")
        )
    await stack.quiet()


async def reviews(stack: RunningStack, agent: str) -> dict[str, str]:
    """Return the reaction of each conversation's review."""
    await stack.quiet()
    rows = await stack.rows(
        "select conversation_id, reaction, agent_id from reporting.effective where origin = 'reviewer'"
    )
    return {row["conversation_id"]: row["reaction"] for row in rows if row["agent_id"] == agent}


async def test_a_queue_leaves_out_reviewed_turns_and_follows_the_filters(stack: RunningStack) -> None:
    await judged(stack, "one", "v-1", "v-2")
    await judged(stack, "other", "v-3")
    async with stack.client() as http:
        assert "2 turns are left" in (await http.get(f"{REVIEW}one")).text
        assert "1 turn is left" in (await http.get(f"{REVIEW}other")).text
        assert "0 turns are left" in (await http.get(f"{REVIEW}one&reaction=ok")).text
        body = {"reaction": "not_ok"}
        await http.post("/conversations/acme/support/v-2/turns/t1/reviews", json=body)
        await stack.quiet()
        assert "1 turn is left" in (await http.get(f"{REVIEW}one")).text
        await http.post("/conversations/acme/support/v-2/turns/t1/reviews", json={"reaction": None})
        await stack.quiet()
        assert "2 turns are left" in (await http.get(f"{REVIEW}one")).text
        # A place whose record is gone, or is one of the audit, begins with the newest turn.
        for mark in ("0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11", "7"):
            answer = await http.get(f"{REVIEW}one&after={mark}")
            assert answer.status_code == 303
            assert parse_qs(urlsplit(answer.headers["location"]).query)["id"] == ["v-2"]
        assert (await http.get(f"{REVIEW}one&after=x")).status_code == 400


async def test_a_reader_sees_the_number_left_and_no_way_in(read_models: Database, take: Take) -> None:
    await take(feedback("f1", kind="explicit", reaction="not_ok"))
    async with client([pages_router(PageSources(read_models, read_models, FixedClock(START)))], "acme") as http:
        page = (await http.get("/dashboard/review?at=acme/support")).text
    assert "1 turn is left" in page and "sign in with a token with the scope" in page
    assert 'data-hotkey="j"' not in page


async def test_a_turn_with_several_verdicts_is_one_place(stack: RunningStack) -> None:
    await judged(stack, "several", "v-4", "v-5")
    async with stack.client() as http:
        explicit = "/conversations/acme/support/v-5/turns/t1/feedback"
        assert (await http.post(explicit, json={"reaction": "not_ok"})).status_code == 202
        await stack.quiet()
        assert "2 turns are left" in (await http.get(f"{REVIEW}several")).text
        mark = (await stack.rows("select feedback_id from reporting.effective where conversation_id = 'v-5'"))[0]
        answer = await http.get(f"{REVIEW}several&after={mark['feedback_id']}")
        assert parse_qs(urlsplit(answer.headers["location"]).query)["id"] == ["v-4"]


@needs_chromium[0]
@needs_chromium[1]
async def test_a_machine_verdict_of_the_list_is_corrected_in_two_clicks(stack: RunningStack, browser: Any) -> None:
    await judged(stack, "listed", "v-20")
    [row] = await stack.rows("select feedback_id from reporting.effective where conversation_id = 'v-20'")
    opened_form = '<details class="review" open>'
    async with stack.client() as http:
        transcript = "/dashboard/conversation?at=acme/support&id=v-20&turn=t1"
        assert opened_form in (await http.get(f"{transcript}&feedback={row['feedback_id']}")).text
        assert opened_form not in (await http.get(transcript)).text
        assert opened_form not in (await http.get(f"{transcript}&feedback=0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11")).text
    async with served(stack.app()) as url, opened(browser, viewport={"width": 1280, "height": 800}) as (page, _):
        await page.goto(f"{url}/?token=all")
        await page.goto(f"{url}/dashboard/feedback?at=acme/support&period=all&agent_id=listed&origin=machine")
        await page.click(".row-texts")
        await picture(page, "review-from-list")
        await page.get_by_role("button", name="Neutral").click()
        await page.wait_for_url("**reviewed=**")
        await expect(page.locator("details.review[open]")).to_have_count(0)
    assert await reviews(stack, "listed") == {"v-20": "neutral"}


async def pressed(page: Any, key: str) -> None:
    """Press a key and wait for the page that it leads to."""
    async with page.expect_navigation():
        await page.keyboard.press(key)


@needs_chromium[0]
@needs_chromium[1]
async def test_the_keyboard_alone_leads_from_the_overview_to_reviewed_verdicts(
    stack: RunningStack, browser: Any
) -> None:
    await judged(stack, "keys", "v-6", "v-7", "v-8", "v-9")
    async with served(stack.app()) as url, opened(browser, viewport={"width": 1280, "height": 800}) as (page, _):
        await page.goto(f"{url}/?token=all")
        await page.goto(f"{url}/?at=acme/support&period=all&agent_id=keys")
        for _ in range(20):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.textContent") == "Review":
                break
        await pressed(page, "Enter")
        await expect(page.locator("main")).to_contain_text("4 turns are left")
        await picture(page, "review")
        await pressed(page, "j")
        await expect(page.locator(".id")).to_have_text("v-9")
        await expect(page.locator(".queue")).to_contain_text("4 turns are left")
        await expect(page.locator(".reactions")).to_contain_text("detector")
        await pressed(page, "x")
        await expect(page.locator(".id")).to_have_text("v-8")
        await expect(page.locator(".queue")).to_contain_text("3 turns are left")
        await stack.quiet()
        await page.keyboard.press("y")
        await page.keyboard.type("anxju: a question")  # keys in a field are text
        await page.keyboard.press("Escape")
        await pressed(page, "n")
        await expect(page.locator(".id")).to_have_text("v-7")
        assert await reviews(stack, "keys") == {"v-9": "not_ok", "v-8": "neutral"}

        await pressed(page, "u")
        await expect(page.locator(".id")).to_have_text("v-8")
        assert await reviews(stack, "keys") == {"v-9": "not_ok"}
        await page.reload()
        await expect(page.locator("main")).not_to_contain_text("reload in a moment")
        await pressed(page, "a")
        await expect(page.locator(".id")).to_have_text("v-7")
        await pressed(page, "j")
        await expect(page.locator(".id")).to_have_text("v-6")
        await pressed(page, "k")
        await expect(page.locator(".id")).to_have_text("v-7")
        await page.keyboard.press("c")
        await page.keyboard.type("It opens at ten.")
        await pressed(page, "Control+Enter")
        await expect(page.locator(".id")).to_have_text("v-6")
        await stack.quiet()
        await pressed(page, "j")
        await expect(page.locator("main")).to_contain_text("1 turn is left")
        await pressed(page, "j")
        await expect(page.locator(".id")).to_have_text("v-6")
        await pressed(page, "x")
        await expect(page.locator("main")).to_contain_text("End of the queue")
        await expect(page.locator("main")).to_contain_text("0 turns are left")
        expected = {"v-9": "not_ok", "v-8": "ok", "v-7": "not_ok", "v-6": "not_ok"}
        assert await reviews(stack, "keys") == expected
    [row] = await stack.rows("select correction from reporting.effective where correction is not null")
    assert row["correction"] == "It opens at ten."


@needs_chromium[0]
@needs_chromium[1]
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_keys_can_be_turned_off_and_the_pages_fit(stack: RunningStack, browser: Any, scheme: str) -> None:
    agent = f"off-{scheme}"
    await judged(stack, agent, f"v-1-{scheme}", f"v-2-{scheme}")
    async with served(stack.app()) as url, opened(browser, color_scheme=scheme) as (page, complaints):
        await page.goto(f"{url}/?token=all")
        await page.goto(url + REVIEW + agent)
        await pressed(page, "j")
        await page.click("text=Turn keys off")
        await page.reload()
        await page.keyboard.press("x")
        await expect(page.locator(".id")).to_have_text(f"v-2-{scheme}")
        assert await reviews(stack, agent) == {}
        await page.click("text=Turn keys on")
        here = page.url
        for path in (here, url + REVIEW + agent):
            for width in (390, 1280):
                await page.set_viewport_size({"width": width, "height": 800})
                await page.goto(path)
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (path, width)
                assert await faint_texts(page) == []
                await picture(page, f"review-{path == here}-{width}-{scheme}")
        assert complaints == []
