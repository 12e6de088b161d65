"""The dashboard as HTML: access, content, and errors."""

from __future__ import annotations

import re

import asyncpg
import httpx
import pytest
from fastapi import APIRouter

from reporting.http.conversations import conversations_router
from reporting.pages.erasure import ERASE, erasure_router
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.service import PROGRAM
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import COOKIE
from servicekit.web.failures import REQUEST_SECONDS
from tests.support.hand_clock import FixedClock
from tests.support.issuer import Issuer, accepting, issuer
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback, message

NOW = FixedClock(START + 3_600_000_000)


BROWSER = {"Accept": "text/html,*/*"}


OWN = {"Origin": "http://reporting"}


def visitor(read_models: asyncpg.Pool, token: str | None = "all") -> httpx.AsyncClient:
    return client([pages_router(PageSources(read_models, read_models, NOW))], token)


def guarded_by(source: Issuer, seconds: float = REQUEST_SECONDS) -> httpx.AsyncClient:
    """Return a client with a cookie of the issuer, behind a guard with an empty application."""

    async def ready() -> None:
        return None

    source.add("rsa")
    authenticator = accepting(source)
    app, described = application(ready), APIRouter()
    described.routes.extend(PROGRAM.routes)
    add_routes(app, [described])
    guard = guarded(app, authenticator, seconds=seconds)
    cookies = {COOKIE: source.token("rsa", scope="read")}
    return httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://reporting", cookies=cookies)


async def test_without_a_token_a_small_page_says_how_to_get_in(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1"))
    async with visitor(read_models, None) as http:
        for path in ("/", "/?token=wrong", "/?token=%C3%A9", "/dashboard/feedback", "/dashboard/assets/dashboard.css"):
            answer = await http.get(path)
            assert answer.status_code == 401
            assert "access token" in answer.text
            assert "acme" not in answer.text
            assert "set-cookie" not in answer.headers


async def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address(read_models: asyncpg.Pool) -> None:
    async with visitor(read_models, None) as http:
        answer = await http.get("/?token=acme&period=7d")
        assert (answer.status_code, answer.headers["location"]) == (303, "/?period=7d")
        assert (
            answer.headers["set-cookie"]
            == "agent_feedback_token=acme; HttpOnly; Max-Age=34560000; Path=/; SameSite=lax"
        )
        assert (await http.get("/")).status_code == 200


async def test_no_page_lets_foreign_or_inline_scripts_run(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1"))
    async with visitor(read_models) as http:
        answer = await http.get("/")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "no-store" in answer.headers["cache-control"]
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    assert " onclick=" not in answer.text


async def test_a_conversation_reads_in_order_with_its_reactions(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        message("a1", turn="t1", content="In Leipzig.", agent="agent-a", at=2),
        message("q1", turn="t1", content="Where is it?", at=1),
        feedback("f1", turn="t1", reaction="not_ok", emoji="\U0001f44e", at=3),
        feedback("f2", turn="t7", reaction="ok", at=4),
    )
    async with visitor(read_models) as http:
        text = (await http.get("/dashboard/conversation?at=acme/support&id=c1&turn=t1")).text
        assert (
            text.index("Where is it?")
            < text.index("In Leipzig.")
            < text.index("\U0001f44e")
            < text.index("without known messages")
        )
        assert text.count('id="here"') == 1
        assert (await http.get("/dashboard/conversation?at=acme/support&id=none")).status_code == 404
        assert (await http.get("/dashboard/conversation?at=acme/support")).status_code == 400


async def test_the_default_project_is_the_one_that_this_reader_viewed_last(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(feedback("f1", at=1))
    await take(feedback("f2", at=2, project="other"))
    async with visitor(read_models) as http:
        first = chosen_project((await http.get("/")).text)
        other = "acme/other" if first == "acme/support" else "acme/support"
        assert chosen_project((await http.get(f"/dashboard/feedback?at={other}")).text) == other
        assert chosen_project((await http.get("/")).text) == other
        http.cookies.set("agent_feedback_project", "acme/no-such")
        assert chosen_project((await http.get("/")).text) == first


async def test_a_project_without_data_has_no_pages(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1"))
    async with visitor(read_models) as http:
        for path in ("/?", "/dashboard/feedback?", "/dashboard/review?"):
            assert (await http.get(path + "at=acme/support")).status_code == 200
            assert (await http.get(path + "at=acme/no-such")).status_code == 404


async def test_a_project_beyond_the_listed_ones_has_pages(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporting.read_models.projects.MOST_PROJECTS", 1)
    await take(feedback("f1"), feedback("f2", project="other"))
    async with visitor(read_models) as http:
        for project in ("support", "other"):
            assert (await http.get(f"/?at=acme/{project}")).status_code == 200


def chosen_project(page: str) -> str:
    """Return tenant and project in the head of a page."""
    form = page[page.index('<form id="project"') :]
    found = re.search(r'<option value="([^"]*)" selected>', form)
    assert found is not None
    return found[1]


async def test_an_empty_platform_and_an_empty_period_say_so(read_models: asyncpg.Pool, take: Take) -> None:
    async with visitor(read_models) as http:
        waiting = (await http.get("/")).text
        assert "Waiting for your first event" in waiting
        assert f"curl -s {str(http.base_url).rstrip('/')}/ingest/demo/support/events" in waiting
        await take(feedback("f1", at=-40 * 86_400))
        empty = (await http.get("/")).text
        assert "No reactions in this period" in empty
        assert '<span class="share">–</span>' in empty
        assert '<span class="share">100%</span>' in (await http.get("/?period=all")).text


@pytest.mark.parametrize("query", ["period=1y", "origin=alien", "agent_id=%00", "at=a%20b/c", "id=" + "x" * 300])
async def test_an_address_that_makes_no_sense_gets_a_page_that_says_so(
    read_models: asyncpg.Pool, take: Take, query: str
) -> None:
    await take(feedback("f1"))
    async with visitor(read_models) as http:
        answer = await http.get(f"/?{query}")
    assert answer.status_code == 400
    assert "This address does not work" in answer.text


async def test_without_its_database_the_page_says_so_and_can_be_asked_again(read_models: asyncpg.Pool) -> None:
    async with visitor(read_models) as http:
        await read_models.close()
        answer = await http.get("/")
    assert answer.status_code == 503
    assert "The database is not available" in answer.text


@pytest.mark.parametrize("name", ["dashboard.css", "dashboard.js", "theme.js", "icon.svg"])
async def test_assets_come_from_the_package(read_models: asyncpg.Pool, name: str) -> None:
    async with visitor(read_models) as http:
        answer = await http.get(f"/dashboard/assets/{name}")
        assert answer.status_code == 200
        assert "//" not in answer.text.replace("http://www.w3.org", "").replace("// ", "")
        assert (await http.get("/dashboard/assets/../routes.py")).status_code == 404


async def test_the_sign_in_form_takes_a_token_and_goes_where_one_was_going(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(feedback("f1"))
    async with visitor(read_models, None) as http:
        asked = await http.get("/dashboard/feedback?at=acme/support&words=%3Cb%3E")
        assert asked.status_code == 401
        assert 'name="next" value="/dashboard/feedback?at=acme%2Fsupport&amp;words=%3Cb%3E"' in asked.text
        assert "does not work" not in asked.text
        wrong = await http.post("/sign-in", headers=OWN, data={"token": "wrong", "next": "/dashboard/feedback"})
        assert wrong.status_code == 422
        assert "This key does not work" in wrong.text
        assert 'value="/dashboard/feedback"' in wrong.text
        assert "set-cookie" not in wrong.headers
        right = await http.post(
            "/sign-in",
            headers=OWN,
            data={"token": "acme", "next": "/dashboard/feedback?at=acme/support"},
        )
        assert (right.status_code, right.headers["location"]) == (303, "/dashboard/feedback?at=acme/support")
        assert (await http.get("/dashboard/feedback")).status_code == 200


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "", "/a b", "x"])
async def test_the_sign_in_form_never_leads_to_another_site(read_models: asyncpg.Pool, target: str) -> None:
    async with visitor(read_models, None) as http:
        answer = await http.post("/sign-in", headers=OWN, data={"token": "acme", "next": target})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"token", b"token=" + b"x" * 60_000, b"&" * 2_000, b"token=%C3%A9"])
async def test_a_sign_in_that_makes_no_sense_is_a_wrong_one(read_models: asyncpg.Pool, body: bytes) -> None:
    async with visitor(read_models, None) as http:
        answer = await http.post("/sign-in", headers=OWN, content=body)
        assert answer.status_code == 422
        assert "This key does not work" in answer.text


async def test_an_old_cookie_says_that_the_token_no_longer_works(read_models: asyncpg.Pool) -> None:
    async with visitor(read_models, None) as http:
        http.cookies.set("agent_feedback_token", "expired")
        assert "This key does not work" in (await http.get("/")).text


async def test_an_address_of_nobodys_gets_a_page_in_a_browser_and_json_elsewhere(read_models: asyncpg.Pool) -> None:
    async with visitor(read_models) as http:
        answer = await http.get("/dashboard/nowhere", headers=BROWSER)
        assert answer.status_code == 404
        assert "There is no page at this address." in answer.text
        assert 'href="/"' in answer.text
        assert (await http.get("/dashboard/nowhere")).json() == {"detail": "Not Found"}
    async with visitor(read_models, None) as http:
        assert (await http.get("/dashboard/nowhere", headers=BROWSER)).status_code == 404


async def test_while_the_issuer_does_not_answer_a_browser_gets_a_page_and_others_json() -> None:
    async with issuer() as source, guarded_by(source) as http:
        source.status = 500
        for path in ("/", "/?token=another", "/dashboard/feedback"):
            answer = await http.get(path, headers=BROWSER)
            assert answer.status_code == 503
            assert (answer.headers["retry-after"], answer.headers["content-type"]) == ("5", "text/html; charset=utf-8")
            assert "The issuer of tokens is not available; send this again later." in answer.text
        answer = await http.get("/access/caller")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.json() == {"detail": "The issuer of tokens is not available; send this again later."}


async def test_the_overview_lists_the_worst_agents(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporting.pages.overview._AGENTS", 2)
    await take(*(feedback(f"f{n}", turn=f"t{n}", agent=f"agent-{n}") for n in range(3)))
    async with visitor(read_models) as http:
        page = (await http.get("/")).text
    listed = page.partition('id="agents"')[2].partition("</section>")[0].count('<th scope="row">')
    assert (listed, "The filter shows 1 more agent." in page) == (2, True)


# The search, oldest feedback first.

OLDEST_NOW = FixedClock(START + 86_400_000_000)


async def test_the_search_goes_from_the_oldest_to_the_newest(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(feedback(f"f{n}", turn=f"t{n}", at=n) for n in range(5)))
    async with client([conversations_router(read_models, OLDEST_NOW)]) as http:
        path, oldest = "/conversations/acme/support/feedback/search", {"sort": "oldest", "limit": 3}
        first = (await http.post(path, json=oldest)).json()
        then = {**oldest, "cursor": first["next_cursor"]}
        second = (await http.post(path, json=then)).json()
        times = [row["ts"] for row in (*first["items"], *second["items"])]
        assert (times, len(set(times))) == (sorted(times), 5)
        assert (await http.post(path, json={**then, "sort": "newest"})).status_code == 400


# Erasure of people whose id is a dot segment, which clients resolve in a path.


async def test_the_page_refuses_what_a_browser_would_resolve(read_models: asyncpg.Pool) -> None:
    async with client([erasure_router(read_models)]) as http:
        for user, status in ((".", 400), ("..", 400), ("...", 200), ("ann", 200)):
            assert (await http.get(ERASE, params={"tenant": "acme", "user": user})).status_code == status, user


async def test_the_page_opens_before_there_is_any_data(read_models: asyncpg.Pool) -> None:
    for token, field in (("all", '<select name="tenant"></select>'), ("acme-admin", 'name="tenant" value="acme"')):
        async with client([erasure_router(read_models)], token) as http:
            answer = await http.get(ERASE)
        assert (answer.status_code, field in answer.text) == (200, True), token
