"""Ten tasks of an operator in Chromium, each from the overview, and the clicks that they take in all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import pytest_asyncio

from servicekit.clock import SystemClock
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.issue_turns import TOPICS, issue_job
from tests.support.receiver import receiver
from tests.support.running_stack import RunningStack, message, reaction, running_stack
from tests.support.served import served

pytestmark = needs_chromium
MOST_CLICKS: Final = 16
WORST: Final = "#agents tbody tr >> nth=0"


async def publish(stack: RunningStack, number: int, agent: str, version: str, emoji: str | None) -> None:
    """Publish a question, its answer, and an emoji or a rejecting message, each time by another person."""
    now, user = datetime.now(UTC), f"person-{number}"
    before = (now - (timedelta(days=2) if version == "1" else timedelta(minutes=5))).isoformat()
    place: dict[str, Any] = {"conversation": f"c{number}", "occurredAt": before, "agentVersion": version}
    place["attributes"] = {"language": "de" if number % 4 < 2 else "en"}
    question = message(f"q{number}", turn=f"t{number}", senderId=user, content=f"{TOPICS[0]}, {number}", **place)
    answer = message(f"a{number}", turn=f"t{number}", agent=agent, **place)
    rejection = message(f"r{number}", senderId=user, content="No, that is wrong.", **place)
    rejection["occurredAt"] = now.isoformat()
    given = reaction(f"a{number}", f"c{number}", emoji, user=user, occurredAt=before) if emoji else rejection
    await stack.publish(question, answer, given)


async def no_issues(_: object) -> int:
    return 0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("REPORTING_PRIVATE_CHANNELS", "true")
        environment.setattr("reporting.parts.ReportingParts.catch_up_with_issues", no_issues)
        async with running_stack(postgres_url) as running:
            for number in range(24):
                await publish(running, number, "worst", *(("1", "👍") if number % 2 else ("2", "👎")))
                await publish(running, number + 100, "liked", "1", "👍")
            await publish(running, 24, "worst", "2", None)
            await running.quiet()
            await issue_job(running.stack.services["reporting"].parts.pool, SystemClock().now()).catch_up()
            yield running


async def test_ten_tasks_take_few_clicks(stack: RunningStack, browser: Any) -> None:
    clicks = 0

    async def click(selector: str) -> None:
        nonlocal clicks
        clicks += 1
        await page.click(selector)

    async with served(stack.app()) as url, opened(browser) as (page, complaints), receiver() as slack:
        overview = f"{url}/?at=acme/support"
        await page.goto(f"{overview}&token=all")
        await expect(page.locator(f"{WORST} >> th")).to_contain_text("worst")  # name the worst agent
        await click(f"{WORST} >> th >> a >> nth=0")  # why
        await expect(page.locator(".causes li").first).to_contain_text("said that it is wrong")
        await click("nav.pages >> text=Compare")  # versions beyond chance
        await expect(page.locator("main")).to_contain_text("less satisfied with 2 than with 1")
        await page.goto(overview)  # open its cases
        await click(f"{WORST} >> text=12 not OK")
        await expect(page.locator(".found > li")).to_have_count(12)
        await page.goto(overview)  # filter by language
        await click("summary:text-is('Filter')")
        await click("label:has(input[name='attributes.language'][value=de])")
        await expect(page.locator("a.chip")).to_contain_text("de")
        await page.goto(overview)  # correct a verdict
        await click("nav.pages >> text=Review")
        await page.wait_for_url("**/dashboard/review*")  # a key pressed before its script runs is lost
        for key in "ja":
            async with page.expect_navigation():
                await page.keyboard.press(key)
        await stack.quiet()
        reviews = "select reaction from reporting.effective where origin = 'reviewer' and conversation_id = 'c24'"
        assert [row["reaction"] for row in await stack.rows(reviews)] == ["ok"]
        await page.goto(overview)  # export an issue
        await click("#changes a[href*='/dashboard/issue']")
        await click("summary:text-is('Export')")
        async with page.expect_download() as download:
            await click("a:has-text('KTO')")
        assert (await download.value).suggested_filename == "support-kto.jsonl"
        await page.goto(overview)  # set a Slack alert
        await click("nav.pages >> text=Alerts")
        await page.fill("input[name=channel]", "team")
        await page.fill("input[name=url]", f"{slack.url}/services/T0/B0")
        await click("text=Save, and send a test")
        await expect(page.get_by_role("status")).to_contain_text("The channel team accepted the test message.")
        await page.goto(overview)  # let a colleague read
        await click("nav.pages >> text=Operations")
        await page.fill("input[name=name]", "ann@example.org")
        await click("text=Create, and show the key")
        assert (await page.input_value("#new-key")).startswith("afk_")
        await page.goto(overview)  # erase a person
        await click("nav.pages >> text=Operations")
        await page.fill("form[action='/dashboard/erase'] input[name=user]", "person-1")
        await click("button:text-is('Look up')")
        await page.fill("input[name=again]", "person-1")
        await click("#erase button")
        await page.wait_for_selector("text=Every service has erased")
        assert [text for text in complaints if "404" not in text] == [], "an erasure's progress is unknown at first"
    print(f"clicks: {clicks}")
    assert clicks <= MOST_CLICKS
