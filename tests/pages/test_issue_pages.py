"""Pages of issues: the list, one issue, and its way from the overview to a decision, as HTML and in Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from contracts.instants import SECOND
from reporting.http.issues import issues_router
from reporting.model.selection import Filters, TimeSpan
from reporting.pages import issues as issue_pages
from reporting.pages.changes import growing_issues
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from servicekit.db.database import Database
from tests.support.chromium import expect, launched, needs_chromium, opened
from tests.support.hand_clock import FixedClock
from tests.support.issue_turns import AT, NOW, issue_job, rejected_turns
from tests.support.perceivable import faint_texts
from tests.support.reporting_client import application, client
from tests.support.reporting_events import START, Take
from tests.support.served import served

LIST, ISSUE = "/dashboard/issues", "/dashboard/issue"
HERE = {"at": "acme/support"}
HOSTILE = "<script>alert(1)</script>{{ 7*7 }}"


def visitor(pool: asyncpg.Pool, token: str = "all") -> httpx.AsyncClient:
    clock = FixedClock(NOW)
    return client([pages_router(PageSources(pool, pool, clock)), issues_router(pool, pool, clock)], token)


@pytest.fixture
async def refund(read_models: asyncpg.Pool, take: Take) -> int:
    """Return the issue on refunds among three issues of five turns each."""
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    issue: int = await read_models.fetchval("select issue_id from issue_turns where turn_id = 't0'")
    return issue


async def test_the_overview_leads_to_the_issues(read_models: asyncpg.Pool, refund: int) -> None:
    async with visitor(read_models) as http:
        for path in ("/", "/?agent_id=bot"):
            text = (await http.get(path)).text
            assert re.search(rf'href="/dashboard/issue\?[^"]*issue={refund}"', text), path
            assert "5 people" in text, path


@pytest.mark.parametrize(
    ("filters", "grown"),
    [
        (Filters(), (3, 2, 3)),
        (Filters(agent_id="bot"), (3, 2, 3)),
        (Filters(user_id="u6"), (1, 0, 1)),
        (Filters(user_id="u0"), None),
        (Filters(origins=("user",)), (3, 2, 3)),
        (Filters(origins=("machine",)), None),
        (Filters(agent_id="other"), None),
        (Filters(reaction="ok"), None),
    ],
)
async def test_an_issue_grows_if_the_period_has_more_matching_rejections_than_the_one_before(
    read_models: asyncpg.Pool, refund: int, filters: Filters, grown: tuple[int, int, int] | None
) -> None:
    middle = START + 50 * SECOND
    span, before = TimeSpan(middle, middle + 90 * SECOND), TimeSpan(START, middle)
    rows = await growing_issues(read_models, AT, span, before, filters)
    assert {row.id: (row.turns, row.turns_before, row.people) for row in rows}.get(refund) == grown
    assert await growing_issues(read_models, AT, span, None, filters) == []


async def test_the_list_shows_unsolved_issues_unless_asked(read_models: asyncpg.Pool, refund: int) -> None:
    async with visitor(read_models) as http:
        assert "refund" in (await http.get(LIST)).text
        await read_models.execute("update issues set state = 'muted' where id = $1", refund)
        for query, shown in (("", False), ("?state=all", True), ("?state=muted", True), ("?agent_id=other", False)):
            assert (f"issue={refund}" in (await http.get(LIST + query)).text) is shown, query


async def test_without_the_extra_the_page_tells_what_to_install(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(*rejected_turns(0, 3))
    monkeypatch.setattr(issue_pages, "is_available", lambda: False)
    async with visitor(read_models) as http:
        assert "pip install &#39;.[issues]&#39;" in (await http.get(LIST)).text.replace("'", "&#39;")


async def test_readers_see_an_issue_but_no_form(read_models: asyncpg.Pool, refund: int) -> None:
    await read_models.execute("update issues set note = 'Known.' where id = $1", refund)
    async with visitor(read_models) as http:
        assert (await http.get(ISSUE, params={**HERE, "issue": refund})).text.count("<form") == 3
    async with visitor(read_models, "acme") as http:
        text = (await http.get(ISSUE, params={**HERE, "issue": refund})).text
        assert "Known." in text
        assert text.count("<form") == 1, "the choice of the project"
        refused = await http.post(f"/conversations/acme/support/issues/{refund}/change", json={"state": "muted"})
        assert refused.status_code == 403
    async with visitor(read_models, "globex") as http:
        assert (await http.get(ISSUE, params={**HERE, "issue": refund})).status_code == 404


async def test_texts_are_escaped_and_unknown_issues_are_not_found(read_models: asyncpg.Pool, refund: int) -> None:
    await read_models.execute("update messages set content = $1 where message_id = 'q0'", HOSTILE)
    async with visitor(read_models) as http:
        text = (await http.get(ISSUE, params={**HERE, "issue": refund})).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7*7 }}" in text
        for issue in ("999999", "0", "x", ""):
            assert (await http.get(ISSUE, params={**HERE, "issue": issue})).status_code in (400, 404)


async def test_the_files_hold_exactly_the_issues_turns(read_models: asyncpg.Pool, refund: int) -> None:
    async with visitor(read_models) as http:
        text = (await http.get(ISSUE, params={**HERE, "issue": refund})).text
        found = re.search(r'href="(/dashboard/feedback\.csv\?[^"]*)"', text)
        assert found is not None
        rows = list(csv.DictReader((await http.get(found[1].replace("&amp;", "&"))).text.splitlines()))
        assert {row["turn_id"] for row in rows} == {"t0", "t3", "t6", "t9", "t12"}
        listed = (await http.get(f"/dashboard/feedback?period=all&issue={refund}")).text
        assert listed.count("Read the conversation") == 5
        assert f"issue={refund}" in re.findall(r'href="([^"]*feedback\.csv[^"]*)"', listed)[0]


async def test_a_case_of_an_issue_leads_back_to_the_issue(read_models: asyncpg.Pool, refund: int) -> None:
    async with visitor(read_models) as http:
        text = (await http.get(ISSUE, params={**HERE, "issue": refund})).text
        [case, *_] = re.findall(r'href="(/dashboard/conversation\?[^"]*)"', text)
        shown = (await http.get(case.replace("&amp;", "&"))).text
        back = re.search(r'<p class="back"><a href="([^"]*)">&larr; Issue</a>', shown)
        assert back is not None
        assert (await http.get(back[1].replace("&amp;", "&"))).text.count("Read the conversation") == text.count(
            "Read the conversation"
        )
        assert f"issue={refund}" not in shown[: shown.index('class="back"')], "other pages show all issues"


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    async with launched() as chromium:
        yield chromium


@needs_chromium[0]
@needs_chromium[1]
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_an_issue_is_found_resolved_and_merged(
    read_models: Database, refund: int, browser: Any, scheme: str
) -> None:
    clock = FixedClock(NOW)
    app = application([pages_router(PageSources(read_models, read_models, clock), read_models)])
    async with served(app) as url, opened(browser, color_scheme=scheme) as (page, _):
        await page.goto(f"{url}/?token=all")
        await page.click(f'a[href*="issue={refund}"]')
        await expect(page.locator("h1")).to_contain_text("refund")
        assert await faint_texts(page) == []
        await page.select_option('select[name="state"]', "resolved")
        await page.fill('input[name="resolved_in"]', "1.1")
        await page.fill('input[name="assignee"]', "Ann")
        await page.click("text=Save")
        await expect(page.locator(".lead")).to_contain_text("resolved in version 1.1")
        await expect(page.locator(".lead")).to_contain_text("Assigned to Ann")
        await page.click("text=Merge into another issue")
        await page.select_option('select[name="into"]', index=0)
        await page.click("button:text-is('Merge')")
        await expect(page.locator(".figure").first).to_have_text("10")
        assert not page.url.endswith(f"issue={refund}")
        refund = int(page.url.rpartition("=")[2])
        for path in (f"{ISSUE}?at=acme/support&issue={refund}", f"{LIST}?state=all"):
            for width in (390, 1280):
                await page.set_viewport_size({"width": width, "height": 800})
                await page.goto(url + path)
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (path, width)
                assert await faint_texts(page) == []


async def test_the_numbers_of_an_issue_lead_to_its_rejections(read_models: asyncpg.Pool, refund: int) -> None:
    async with visitor(read_models) as http:
        text = (await http.get(ISSUE, params={**HERE, "issue": refund, "period": "24h"})).text
        tiles = text[text.index("Figures of the issue") : text.index("Most typical turns")]
        counts = re.findall(r'href="(/dashboard/feedback[^"]*)">(\d+)</a>', tiles)
        assert [count for _, count in counts] == ["5", "1", "5", "5"], "turns, the version, 14 days, the worst day"
        words = re.findall(r'href="(/dashboard/feedback[^"]*words=(\w+)[^"]*)">\2</a>', text)
        assert {word for _, word in words} >= {"refund", "money"}
        trend = re.search(r'class="sparks"><a href="([^"]*)"', (await http.get(LIST, params=HERE)).text)
        assert trend is not None
        for address in (*(address for address, _ in counts), words[0][0], trend[1]):
            listed = await http.get(address.replace("&amp;", "&"))
            assert "5 records" in listed.text, address
