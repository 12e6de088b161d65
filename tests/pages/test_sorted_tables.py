"""Tables of the pages sorted by the links in their headers."""

from __future__ import annotations

import re
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.api.conversations import conversations_router
from reporting.api.figures import figures_router
from reporting.api.issues import issues_router
from reporting.dashboard.routes import pages_router
from servicekit.clock import FixedClock
from tests.support.chromium import expect, needs_chromium, opened
from tests.support.issue_turns import NOW, TOPICS, issue_job, rejected_turn, rejected_turns
from tests.support.reporting_client import application, client
from tests.support.reporting_events import Take, feedback
from tests.support.served import served

PROJECT = "/conversations/acme/support"
AGENTS = {"many": (60, 60), "bad": (1, 19), "good": (19, 1), "single": (0, 1)}
"""Numbers of ok and not_ok verdicts by people, by agent."""


def routers(pool: asyncpg.Pool) -> list[Any]:
    clock = FixedClock(NOW)
    return [
        pages_router(pool, clock, None),
        figures_router(pool, clock),
        issues_router(pool, pool, clock),
        conversations_router(pool, clock, None),
    ]


def visitor(pool: asyncpg.Pool) -> httpx.AsyncClient:
    return client(routers(pool))


async def judged(take: Take, **about: Any) -> None:
    """Take people's verdicts on the agents; with `by="agent_version"` on versions of one agent."""
    by = about.pop("by", "agent")
    await take(
        *(
            feedback(f"{name}{reaction}{n}", kind="explicit", reaction=reaction, turn=f"{name}{reaction}{n}", at=n,
                     **{**about, by: name})
            for name, counts in AGENTS.items()
            for reaction, count in zip(("ok", "not_ok"), counts, strict=True)
            for n in range(count)
        )
    )  # fmt: skip


def rows_of(text: str, table: str) -> list[str]:
    """Return the first link or text of each row's header cell, in a table with the class `table`."""
    body = re.search(rf'<table class="[^"]*{table}[^"]*">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    assert body is not None
    cells = re.findall(r'<th scope="row">(.*?)</th>', body[1], re.DOTALL)
    return [re.sub("<.*?>", " ", cell).split()[0] for cell in cells]


def header(text: str, label: str) -> tuple[str | None, str]:
    """Return the `aria-sort` and the address of a header cell."""
    cell = re.search(rf'<th scope="col"[^>]*?(?: aria-sort="(\w+)")?><a class="sort" href="([^"]*)">{label}</a>', text)
    assert cell is not None, label
    return cell[1], cell[2].replace("&amp;", "&")


async def test_the_change_is_a_column_only_if_there_are_verdicts_of_the_period_before(
    read_models: asyncpg.Pool, take: Take
) -> None:
    async with visitor(read_models) as http:
        for at, expected in ((0, False), (-40 * 24 * 3600, True)):
            await take(feedback(f"f{at}", kind="explicit", turn=f"t{at}", agent="bot", at=at))
            text = (await http.get("/?period=30d")).text
            cells = re.search(r'<table class="ranking">(.*?)</table>', text, re.DOTALL)
            assert cells is not None
            assert (">Change</a>" in cells[1]) is expected
            assert cells[1].count("<th scope=") - 1 == cells[1].count("<td") + 1 == (7 if expected else 6)


async def test_agents_are_sorted_by_their_columns_and_worst_first_by_default(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await judged(take)
    async with visitor(read_models) as http:
        text = (await http.get("/?period=7d")).text
        assert "Agents, worst first" in text
        assert rows_of(text, "ranking") == ["bad", "many", "good", "single"]
        assert " aria-sort=" not in text
        text = (await http.get(header(text, "Rejected")[1])).text
        assert "Agents, worst first" not in text
        assert rows_of(text, "ranking") == ["many", "bad", "good", "single"]
        state, address = header(text, "Rejected")
        assert state == "descending"
        assert "period=7d" in address
        text = (await http.get(address)).text
        assert (header(text, "Rejected")[0], rows_of(text, "ranking")[-1]) == ("ascending", "many")
        for sort, order in {
            "agent": ["bad", "good", "many", "single"],
            "-agent": ["single", "many", "good", "bad"],
            "people": ["bad", "many", "single", "good"],
            "-people": ["good", "many", "bad", "single"],
            "-total": ["many", "bad", "good", "single"],
        }.items():
            assert rows_of((await http.get("/", params={"sort": sort})).text, "ranking") == order, sort
        assert '<input type="hidden" name="sort" value="-people">' in (await http.get("/?sort=-people")).text


async def test_an_order_that_a_table_lacks_gets_a_page_that_says_so(read_models: asyncpg.Pool, take: Take) -> None:
    await judged(take)
    async with visitor(read_models) as http:
        for path in (
            "/",
            "/dashboard/agent?agent=bad",
            "/dashboard/issues",
            "/dashboard/compare",
            "/dashboard/feedback",
        ):
            answer = await http.get(path, params={**httpx.URL(path).params, "sort": "<script>"})
            assert (answer.status_code, "<script>" in answer.text.replace("<script src", "")) == (400, False), path


async def test_versions_are_sorted_below_the_whole(read_models: asyncpg.Pool, take: Take) -> None:
    await judged(take, agent="bot", by="agent_version")
    async with visitor(read_models) as http:
        text = (await http.get("/dashboard/agent?agent=bot")).text
        assert rows_of(text, "versions-table") == ["All", "many", "bad", "good", "single"]
        text = (await http.get(header(text, "People")[1])).text
        assert rows_of(text, "versions-table") == ["All", "bad", "many", "single", "good"]
        assert "agent=bot" in header(text, "Version")[1]


async def test_all_values_of_a_dimension_are_listed_and_sorted(read_models: asyncpg.Pool, take: Take) -> None:
    await judged(take, agent="bot", by="agent_version")
    async with visitor(read_models) as http:
        text = (await http.get("/dashboard/compare?a=bad&b=good")).text
        assert rows_of(text, "values") == ["bad", "good", "many", "single"]
        assert header(text, "Version")[0] == "ascending"
        address = header(text, "Rejected")[1]
        assert "a=bad" in address
        assert "b=good" in address
        text = (await http.get(address)).text
        assert rows_of(text, "values") == ["many", "bad", "good", "single"]
        cases = re.search(r'href="([^"]*)"[^>]*>60</a>', text)
        assert cases is not None
        listed = await http.get(cases[1].replace("&amp;", "&"))
        assert "60 records." in listed.text


async def test_issues_are_sorted_by_their_columns(read_models: asyncpg.Pool, take: Take) -> None:
    again = [one for n in (20, 23) for one in rejected_turn(n, TOPICS[2], user="u2", at=400 + n)]
    await take(*rejected_turns(0, 12), *(one for n in (30, 33, 36) for one in rejected_turn(n, TOPICS[0])), *again)
    await issue_job(read_models).catch_up()
    topics = {
        row["issue_id"]: row["topic"]
        for row in await read_models.fetch(
            "select issue_id, min(substr(turn_id, 2)::int % 3) as topic from issue_turns group by 1"
        )
    }
    await read_models.execute("delete from issue_counts")
    # Rejected answers on the topic: 7 of 7, 4 of 40, and not counted.
    for issue, topic in topics.items():
        if topic in (0, 1):
            await read_models.execute(
                "insert into issue_counts (issue_id, tenant, project, day, turns, rejected)"
                " values ($1, 'acme', 'support', 0, $2, $3)",
                issue,
                (7, 40)[topic],
                (7, 4)[topic],
            )
    expected = {
        "turns": [1, 2, 0],
        "-turns": [0, 2, 1],
        "people": [2, 1, 0],
        "-people": [0, 2, 1],
        "topic": [1, 0, 2],
        "-topic": [0, 1, 2],
        "-last": [2, 0, 1],
    }
    async with visitor(read_models) as http:
        for sort, order in expected.items():
            items = (await http.get(f"{PROJECT}/issues", params={"sort": sort})).json()["items"]
            assert [topics[one["id"]] for one in items] == order, sort
            text = (await http.get("/dashboard/issues", params={"sort": sort})).text
            assert [
                topics[int(one)] for one in re.findall(r'<tr><th scope="row"><a href="[^"]*issue=(\d+)', text)
            ] == order
        text = (await http.get("/dashboard/issues")).text
        assert header(text, "Turns")[0] == "descending"
        assert header(text, "People")[1].endswith("sort=-people")
        assert (await http.get(f"{PROJECT}/issues?sort=title")).status_code == 422


async def test_the_list_begins_with_the_oldest_if_asked_and_goes_on(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(feedback(f"f{n:03}", turn=f"t{n}", user=f"u{n:03}", at=n) for n in range(70)))
    async with visitor(read_models) as http:
        text = (await http.get("/dashboard/feedback")).text
        seen: list[str] = []
        address = re.search(r'href="([^"]*)">Oldest first</a>', text)
        while address is not None:
            text = (await http.get(address[1].replace("&amp;", "&"))).text
            assert '" aria-current="true">Oldest first</a>' in text
            seen += re.findall(r'class="who"[^>]*>(u\d+)</a>', text)
            address = re.search(r'rel="next" href="([^"]*)">Newer</a>', text)
        assert seen == [f"u{n:03}" for n in range(70)]


async def test_the_api_sorts_the_same_lists(read_models: asyncpg.Pool, take: Take) -> None:
    await judged(take)
    async with visitor(read_models) as http:
        for sort, order in {
            None: ["bad", "many", "good", "single"],
            "people": ["bad", "many", "single", "good"],
            "-people": ["good", "many", "bad", "single"],
            "machine": ["bad", "many", "good", "single"],
            "-rejected": ["many", "bad", "good", "single"],
            "total": ["single", "bad", "good", "many"],
        }.items():
            asked = {"limit": "2", **({} if sort is None else {"sort": sort})}
            page = (await http.get(f"{PROJECT}/feedback/agents", params=asked)).json()
            rest = (
                await http.get(f"{PROJECT}/feedback/agents", params={**asked, "cursor": page["next_cursor"]})
            ).json()
            assert [one["agent_id"] for one in (*page["agents"], *rest["agents"])] == order, sort
            other = {**asked, "sort": "-total", "cursor": page["next_cursor"]}
            assert (await http.get(f"{PROJECT}/feedback/agents", params=other)).status_code == 400
        oldest = {"sort": "oldest", "limit": 3, "agent_id": "bad"}
        first = (await http.post(f"{PROJECT}/feedback/search", json=oldest)).json()
        then = {**oldest, "cursor": first["next_cursor"]}
        second = (await http.post(f"{PROJECT}/feedback/search", json=then)).json()
        times = [one["ts"] for one in (*first["items"], *second["items"])]
        assert (times, len(set(times))) == (sorted(times), 5)
        newest = {**then, "sort": "newest"}
        assert (await http.post(f"{PROJECT}/feedback/search", json=newest)).status_code == 400


@pytest.mark.parametrize("width", [1280, 390])
@needs_chromium[0]
@needs_chromium[1]
async def test_a_header_sorts_in_the_browser_and_filters_keep_the_order(
    read_models: asyncpg.Pool, take: Take, browser: Any, width: int
) -> None:
    await judged(take)
    size = {"width": width, "height": 900}
    async with served(application(routers(read_models))) as url, opened(browser, viewport=size) as (page, complaints):
        await page.goto(f"{url}/?token=all")
        await page.get_by_role("link", name="Rejected", exact=True).click()
        await expect(page.locator("th[aria-sort=descending]")).to_have_text("Rejected")
        await page.locator("select[name=origin]").select_option("user")
        await page.wait_for_url("**origin=user**")
        assert "sort=-rejected" in page.url
        await expect(page.locator("#agents tbody tr").first).to_contain_text("many")
        assert [one for one in complaints if "/dashboard/live" not in one] == [], "a poll may be cut off by a click"
