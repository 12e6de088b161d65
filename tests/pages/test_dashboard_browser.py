"""The dashboard in Debian's Chromium."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, Page

from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.reporting_client import application
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import START, Event, batch, feedback, message
from tests.support.served import served

pytestmark = needs_chromium


@dataclass
class Site:
    url: str
    projector: ProjectionHandler

    async def take(self, *events: Event) -> None:
        await self.projector.handle(batch(*events))


def seconds_ago(seconds: float) -> float:
    """Return a time in the unit of the event builders."""
    return time.time() - seconds - START / 1_000_000


@pytest.fixture
async def site(postgres_url: str) -> AsyncIterator[Site]:
    async with (
        empty_read_models(postgres_url) as pool,
        served(application([pages_router(PageSources(pool, pool, SystemClock()))])) as url,
    ):
        yield Site(url, ProjectionHandler(PostgresReadModels(pool)))


@pytest.fixture
async def opened_page(browser: Browser) -> AsyncIterator[tuple[Page, list[str]]]:
    async with opened(browser, viewport={"width": 1280, "height": 900}, color_scheme="light") as (page, complaints):
        page.on("dialog", lambda _: complaints.append("a dialog opened"))
        yield page, complaints


@pytest.fixture
def page(opened_page: tuple[Page, list[str]]) -> Page:
    return opened_page[0]


@pytest.fixture
def complaints(opened_page: tuple[Page, list[str]]) -> list[str]:
    """Return the page's errors and dialogs so far."""
    return opened_page[1]


async def satisfaction_reads(page: Page, text: str) -> None:
    await expect(page.locator(".tile.main .share")).to_have_text(text, timeout=30_000)


async def test_an_empty_dashboard_fills_by_itself(site: Site, page: Page) -> None:
    await page.goto(f"{site.url}/?token=all")
    assert await page.inner_text("h1") == "Waiting for your first event"
    await site.take(feedback("f1", at=seconds_ago(5)))
    await page.wait_for_selector("#filters")


async def test_filters_live_in_the_address_and_the_way_back_works(
    site: Site, page: Page, complaints: list[str]
) -> None:
    await site.take(
        feedback("f1", turn="t1", agent="agent-a", reaction="ok", at=seconds_ago(60)),
        feedback("f2", turn="t2", agent="agent-b", reaction="not_ok", at=seconds_ago(60)),
    )
    await page.goto(f"{site.url}/?token=all")
    await page.click(".menu.filter summary")
    await page.select_option("select[name=agent_id]", "agent-a")
    await satisfaction_reads(page, "100%")
    assert "agent_id=agent-a" in page.url
    await page.click(".menu.period summary")
    await page.check("input[value='30d']", force=True)
    await page.wait_for_url("**period=30d*")
    await page.reload()
    assert await page.inner_text(".tile.main .share") == "100%"
    assert await page.input_value("select[name=agent_id]") == "agent-a"
    await page.go_back()
    await page.go_back()
    await satisfaction_reads(page, "50%")
    assert complaints == []


async def test_hostile_text_is_shown_and_does_nothing(site: Site, page: Page, complaints: list[str]) -> None:
    hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    await site.take(
        message("a1", turn="t1", content=hostile, agent=hostile, at=seconds_ago(60)),
        feedback("f1", turn="t1", kind="explicit", reaction="not_ok", text=hostile, agent=hostile, at=seconds_ago(30)),
    )
    await page.goto(f"{site.url}/?token=all")
    await page.goto(f"{site.url}/dashboard/feedback")
    assert await page.inner_text(".found .said") == hostile
    await page.click(".row-texts")
    await page.wait_for_selector(".transcript")
    assert await page.inner_text(".message.agent > .text") == hostile
    assert await page.locator("main img, main script").count() == 0
    assert complaints == []


async def test_a_service_that_stops_answering_is_shown_and_tried_again(site: Site, page: Page) -> None:
    await site.take(feedback("f1", at=seconds_ago(5)))
    await page.goto(f"{site.url}/?token=all")
    await page.route("**/*period=30d*", lambda route: route.abort())
    await page.click(".menu.period summary")
    await page.check("input[value='30d']", force=True)
    await page.wait_for_selector("#trouble:not([hidden])")
    assert await page.inner_text("#trouble span") == "The service does not answer."
    await page.unroute("**/*period=30d*")
    await page.click("#trouble button")
    await page.wait_for_selector("#trouble", state="hidden")
    assert await page.is_checked("input[value='30d']")


async def test_light_and_dark_follow_the_system_until_chosen(site: Site, page: Page) -> None:
    await site.take(feedback("f1", at=seconds_ago(5)))
    await page.emulate_media(color_scheme="dark")
    await page.goto(f"{site.url}/?token=all")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = await page.evaluate(ground)
    await page.click("#theme")
    light = await page.evaluate(ground)
    assert (dark, light) == ("rgb(19, 20, 19)", "rgb(246, 244, 239)")
    await page.reload()
    assert await page.evaluate(ground) == light


@pytest.mark.parametrize("width", [390, 1280])
async def test_nothing_runs_over_the_edge(site: Site, page: Page, width: int) -> None:
    wide = "W" * 200
    await site.take(
        message("a1", turn="t1", content=wide, agent=wide, at=seconds_ago(60)),
        feedback("f1", turn="t1", kind="explicit", text=wide, tags=(wide[:128],), agent=wide, user=wide,
                 conversation="c1", agent_message_id="a1", at=seconds_ago(30)),
    )  # fmt: skip
    await page.set_viewport_size({"width": width, "height": 800})
    over = "document.documentElement.scrollWidth - innerWidth"
    await page.goto(f"{site.url}/?token=all")
    assert await page.evaluate(over) <= 0
    await page.goto(f"{site.url}/dashboard/feedback")
    await page.click(".row-texts")
    await page.wait_for_selector(".transcript")
    assert await page.evaluate(over) <= 0
    for path in ("feedback", "feedback?feedback_type=explicit", f"compare?agent_id={wide}", "accuracy"):
        await page.goto(f"{site.url}/dashboard/{path}")
        await page.wait_for_selector("nav.pages")
        assert await page.evaluate(over) <= 0, path


# For each cell except the first of a row: the header above it, and the distance of their right edges.


async def test_from_the_sign_in_form_to_a_rejected_answer_and_back(site: Site, browser: Browser) -> None:
    await site.take(
        message("a1", turn="t1", content="**In** Leipzig.", agent="agent-a", at=seconds_ago(90)),
        feedback("f1", turn="t1", reaction="not_ok", agent="agent-a", at=seconds_ago(60)),
        feedback("f2", turn="t2", reaction="ok", agent="agent-b", at=seconds_ago(50)),
    )
    context = await browser.new_context(timezone_id="Asia/Tokyo")
    page = await context.new_page()
    page.set_default_timeout(30_000)
    await page.goto(site.url)
    await page.fill("#token", "wrong")
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_selector("[role=alert]")
    await page.fill("#token", "all")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("main[data-zone='Asia/Tokyo']")
    await page.click(".tile.main a.not_ok")
    await page.wait_for_selector(".found")
    assert await page.locator(".found > li").count() == 1
    await page.click(".row-texts")
    assert await page.inner_text(".message.agent strong") == "In"
    await page.click("text=Feedback list")
    await page.wait_for_selector(".found")
    assert "reaction=not_ok" in page.url
    await page.click(".menu.filter summary")
    await page.select_option("select[name=reaction]", "ok")
    await page.wait_for_selector(".found .badge.ok")
    assert page.url.startswith(f"{site.url}/dashboard/feedback?")
    await context.close()


async def test_without_scripts_the_filters_still_work(site: Site, browser: Browser) -> None:
    await site.take(feedback("f1", agent="agent-a", at=seconds_ago(5)))
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{site.url}/?token=all")
    await page.click(".menu.period summary")
    await page.check("input[value='30d']", force=True)
    await page.click("text=Apply")
    assert "period=30d" in page.url
    assert await page.inner_text(".tile.main .share") == "100%"
    await context.close()
