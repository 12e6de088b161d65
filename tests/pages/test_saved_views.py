"""Saved views: save the page that is open, use, rename and delete it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio

from reporting.access.log import AccessLog
from reporting.dashboard.queries.saved_views import LONGEST_NAME, MOST_VIEWS, ViewChanges
from reporting.dashboard.routes import pages_router
from reporting.dashboard.saved_views import saved_views_router
from servicekit.clock import FixedClock
from servicekit.web.auth import Caller
from tests.support.axe import violations
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.perceivable import faint_texts
from tests.support.reporting_client import CALLERS, application, client
from tests.support.reporting_events import START, Take, feedback
from tests.support.served import served

VIEWS = "/dashboard/views"
READ = frozenset({"read"})
PEOPLE = {
    "ann": Caller("account:ann", tenant="acme", project="support", scopes=READ),
    "bo": Caller("account:bo", tenant="acme", project="support", scopes=READ),
    "olga": Caller("account:olga", tenant="acme", project="support", scopes=READ | {"operate"}),
    "other": Caller("account:ann", tenant="acme", project="sales", scopes=READ),
    "runtime": Caller("runtime", tenant="acme", project="support", scopes=frozenset({"detect"})),
}


@pytest.fixture(autouse=True)
def callers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, caller in PEOPLE.items():
            patch.setitem(CALLERS, name, caller)
        yield


def routers(pool: asyncpg.Pool) -> list[Any]:
    clock = FixedClock(START + 3_600_000_000)
    changes = ViewChanges(pool, clock, AccessLog(pool, clock))
    return [pages_router(pool, clock, None), saved_views_router(pool, clock, changes)]


@pytest_asyncio.fixture(loop_scope="session")
async def pool(read_models: asyncpg.Pool, take: Take) -> asyncpg.Pool:
    await take(feedback("f1"), feedback("f2", project="sales"), feedback("f3", tenant="globex"))
    return read_models


async def posted(pool: asyncpg.Pool, who: str, **form: str) -> httpx.Response:
    headers = {"sec-fetch-site": form.pop("site", "same-origin")}
    async with client(routers(pool), who) as http:
        return await http.post(VIEWS, data=form, headers=headers)


async def got(pool: asyncpg.Pool, who: str, path: str = VIEWS) -> str:
    async with client(routers(pool), who) as http:
        answer = await http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text


async def id_of(pool: asyncpg.Pool, name: str) -> str:
    return str(await pool.fetchval("select id from saved_views where name = $1", name))


async def test_the_fields_for_a_name_accept_the_longest_name(pool: asyncpg.Pool) -> None:
    longest = "n" * LONGEST_NAME
    assert (await posted(pool, "ann", name=longest, page="/")).status_code == 303
    assert (await posted(pool, "ann", name=longest + "n", page="/")).status_code == 422
    for path in ("/dashboard/feedback", VIEWS):
        fields = re.findall(r'<input name="name"[^>]*>', await got(pool, "ann", path))
        assert fields and all(f'maxlength="{LONGEST_NAME}"' in one for one in fields), (path, fields)


async def test_a_view_is_saved_and_listed_for_all_readers_of_the_project(pool: asyncpg.Pool) -> None:
    text = await got(pool, "ann", "/dashboard/feedback?period=7d&reaction=not_ok&evil=1")
    here = re.search(r'name="page" value="([^"]*)"', text)
    assert here is not None
    saved = await posted(pool, "ann", name="  Bad   week ", page=here[1].replace("&amp;", "&") + "&cursor=1-2-x")
    assert (saved.status_code, saved.headers["location"]) == (
        303,
        "/dashboard/feedback?at=acme%2Fsupport&period=7d&reaction=not_ok",
    )
    for path in ("/", "/dashboard/issues", VIEWS):
        text = await got(pool, "bo", path)
        assert '<a href="/dashboard/feedback?at=acme%2Fsupport&amp;period=7d&amp;reaction=not_ok">' in text, path
        assert "Bad week" in text, path
    assert "by ann, " in await got(pool, "bo")
    for who in ("other", "globex"):
        assert "Bad week" not in await got(pool, who), who


async def test_only_author_and_operators_change_a_view(pool: asyncpg.Pool) -> None:
    for name in ("one", "two"):
        await posted(pool, "ann", name=name, page="/")
    one, two = await id_of(pool, "one"), await id_of(pool, "two")
    assert "Delete one" not in await got(pool, "bo")
    for form in ({"delete": one}, {"rename": one, "name": "mine"}):
        assert (await posted(pool, "bo", **form)).status_code == 403
        assert (await posted(pool, "other", **form)).status_code == 404
        assert (await posted(pool, "globex", **form)).status_code == 404
        assert (await posted(pool, "runtime", **form)).status_code == 403
        assert (await posted(pool, "ann", site="same-site", **form)).status_code == 403
    assert (await posted(pool, "ann", rename=one, name="two")).status_code == 409
    assert "The view one was renamed." in (await posted(pool, "ann", rename=one, name="first")).text
    assert "The view two was deleted." in (await posted(pool, "olga", delete=two)).text
    rows = await pool.fetch("select name, created_by from saved_views")
    assert [tuple(row) for row in rows] == [("first", "account:ann")]
    log = await pool.fetch("select actor, project, action, about from access_log order by id")
    assert [tuple(row) for row in log] == [
        ("account:ann", "support", "changed view", "saved: one"),
        ("account:ann", "support", "changed view", "saved: two"),
        ("account:ann", "support", "changed view", "renamed: one to first"),
        ("account:olga", "support", "changed view", "deleted: two"),
    ]


async def test_of_two_changes_at_once_one_is_refused(pool: asyncpg.Pool) -> None:
    for name in ("one", "two"):
        await posted(pool, "ann", name=name, page="/")
    one, two = await id_of(pool, "one"), await id_of(pool, "two")
    renamed = await asyncio.gather(*(posted(pool, "ann", rename=view, name="same") for view in (one, two)))
    assert sorted(answer.status_code for answer in renamed) == [200, 409]
    deleted = await asyncio.gather(*(posted(pool, "ann", delete=one) for _ in range(2)))
    assert sorted(answer.status_code for answer in deleted) == [200, 404]
    assert await pool.fetchval("select count(*) from access_log where about like 'deleted%'") == 1


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"name": "x", "page": "/dashboard/feedback?q=ann@shop.example"}, 422),
        ({"name": "x", "page": "//evil.example/"}, 422),
        ({"name": "x", "page": "https://evil.example/"}, 422),
        ({"name": "x", "page": "/dashboard/feedback?user=ann"}, 422),
        ({"name": "", "page": "/"}, 422),
        ({"name": "x" * 81, "page": "/"}, 422),
        ({"name": "a\x00b", "page": "/"}, 422),
        ({"name": "\u202edesrever", "page": "/"}, 422),
        ({"delete": "7"}, 404),
        ({"delete": "x"}, 404),
        ({"rename": "7 or true", "name": "x"}, 404),
        ({}, 422),
        ({"name": "x", "page": "/", "site": "cross-site"}, 403),
    ],
)
async def test_a_form_that_makes_no_sense_changes_nothing(
    pool: asyncpg.Pool, form: dict[str, str], status: int
) -> None:
    answer = await posted(pool, "ann", **form)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert await pool.fetchval("select count(*) from saved_views") == 0
    assert await pool.fetchval("select count(*) from access_log") == 0


async def test_names_are_escaped_and_unique_and_their_number_is_bounded(pool: asyncpg.Pool) -> None:
    hostile = '<script>alert(1)</script>"{{ 7*7 }}'
    assert (await posted(pool, "ann", name=hostile, page="/")).status_code == 303
    for path in (VIEWS, "/"):
        text = await got(pool, "bo", path)
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;{{ 7*7 }}" in text
    assert (await posted(pool, "bo", name=hostile, page="/")).status_code == 409
    await pool.execute(
        "insert into saved_views (tenant, project, name, page, query, created_at, created_by)"
        " select 'acme', 'support', 'n' || n, '/', '', 0, 'x' from generate_series(2, $1) n",
        MOST_VIEWS,
    )
    assert (await posted(pool, "ann", name="one too many", page="/")).status_code == 409
    assert (await posted(pool, "other", name="elsewhere", page="/")).status_code == 303


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@needs_chromium[0]
@needs_chromium[1]
async def test_a_view_is_saved_opened_and_deleted_in_the_browser(
    pool: asyncpg.Pool, browser: Any, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    async with (
        served(application(routers(pool))) as url,
        opened(browser, viewport=size, color_scheme=scheme) as (page, complaints),
    ):
        await page.goto(f"{url}/?token=ann")
        await page.goto(f"{url}/dashboard/feedback?period=7d")
        await page.locator("details.views summary").click()
        await page.get_by_label("Name of the view").fill("My week")
        await page.get_by_role("button", name="Save this view").click()
        await page.locator("details.views summary").click()
        assert await faint_texts(page) == []
        assert await violations(page) == []
        await page.get_by_role("link", name="All views").click()
        await page.get_by_role("main").get_by_role("link", name="My week").first.wait_for(state="attached")
        assert await faint_texts(page) == []
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await page.locator(".card").get_by_role("link", name="My week").click()
        await page.wait_for_url("**/dashboard/feedback?**period=7d**")
        await page.goto(f"{url}{VIEWS}")
        await page.get_by_role("button", name="Delete My week").click()
        await expect(page.get_by_role("status")).to_have_text("The view My week was deleted.")
        # A click cuts off the requests of the page that it leaves.
        assert [one for one in complaints if not one.startswith(url)] == []
