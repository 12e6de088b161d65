"""Accounts of operators: links, passwords, sessions, roles and projects, in all services of one process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio
from argon2 import PasswordHasher

from contracts.instants import DAY, MINUTE
from reporting.access.accounts import LINK_DAYS, Accounts
from reporting.access.attempts import MOST_BY_ADDRESS, MOST_BY_NAME, WINDOW
from reporting.access.passwords import Passwords
from reporting.access.roles import ALL, SCOPES, ProjectSet
from reporting.access.sessions import AccountSessions
from servicekit.clock import SystemClock
from servicekit.errors import RequestRefused
from servicekit.web.auth import AnyOf, AnyOfLater, Caller
from servicekit.web.remote_accounts import RemoteAccounts
from tests.support.databases import empty_schema
from tests.support.hand_clock import HandClock
from tests.support.running_stack import RunningStack, Tokens, exchange, message, running_stack

EVERYWHERE = ProjectSet(ALL, (ALL,))
PASSWORD = "correct horse battery"
QUICK = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TURN = "/conversations/acme/{project}/c1/turns/t1"
READS = ["/", "/dashboard/feedback", "/dashboard/issues", "/dashboard/review", "/dashboard/access"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        for project in ("support", "sales", "secret"):
            await running.publish(
                *(event | {"project": project} for event in exchange("c1", "t1")),
                message("q2", "c1", project=project, content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
            )
        await running.quiet()
        yield running


def browser(stack: RunningStack, **options: Any) -> httpx.AsyncClient:
    """Return a client without a token that keeps cookies."""
    authenticator = AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators))
    transport = httpx.ASGITransport(stack.app(authenticator, seconds=60))
    return httpx.AsyncClient(transport=transport, base_url="http://stack", **options)


async def invited(stack: RunningStack, name: str, role: str, *places: str) -> str:
    """Add an account on the page as the platform's administrator; return the path of its link."""
    async with browser(stack, headers={"Authorization": "Bearer all"}) as http:
        said = await http.post("/dashboard/access/accounts", data={"name": name, "role": role, "place": list(places)})
    assert said.status_code == 200, said.text
    found = re.search(r'value="http://stack(/set-password\?link=[^"]+)"', said.text)
    assert found, said.text
    return found[1]


@asynccontextmanager
async def signed_in(stack: RunningStack, name: str, role: str, *places: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a browser in which a new account is signed in."""
    path = await invited(stack, name, role, *places)
    link = path.partition("link=")[2]
    async with browser(stack) as http:
        done = await http.post("/set-password", data={"link": link, "password": PASSWORD, "again": PASSWORD})
        assert (done.status_code, done.headers["location"]) == (303, "/"), done.text
        yield http


async def test_a_colleague_reads_two_projects_and_nothing_else(stack: RunningStack) -> None:
    async with signed_in(stack, "Ann@Example.org", "reader", "acme/support", "acme/sales") as ann:
        for path in READS:
            assert (await ann.get(path)).status_code == 200, path
        front = (await ann.get("/?at=acme/sales")).text
        assert "acme / sales" in front and "secret" not in front
        transcript = "/dashboard/conversation?id=c1&at=acme/"
        assert (await ann.get(transcript + "support")).status_code == 200
        assert (await ann.get(transcript + "secret")).status_code == 404
        for project, status in (("support", 200), ("sales", 200), ("secret", 403)):
            found = await ann.post(f"/conversations/acme/{project}/feedback/search", json={})
            assert found.status_code == status, project
        for method, path, body in (
            ("GET", "/conversations/acme/support/exports/kto", None),
            ("GET", "/dashboard/feedback.csv", None),
            ("DELETE", "/tenants/acme/users/bob", None),
            ("POST", TURN.format(project="support") + "/reviews", {"reaction": "ok"}),
            ("POST", TURN.format(project="support") + "/feedback", {"reaction": "ok"}),
            ("GET", TURN.format(project="support") + "/feedback", None),
            ("POST", "/conversations/acme/support/alerts/rules", {}),
            ("POST", "/dashboard/access/accounts", {}),
        ):
            assert (await ann.request(method, path, json=body)).status_code == 403, path
        page = (await ann.get("/dashboard/feedback")).text
        assert "feedback.csv" not in page
        own = (await ann.get("/access/caller")).json()
        assert (own["subject"], own["projects"]) == ("account:ann@example.org", ["sales", "support"])


async def test_a_review_names_the_account(stack: RunningStack) -> None:
    async with signed_in(stack, "rita", "reviewer", "acme/support") as rita:
        done = await rita.post(TURN.format(project="support") + "/reviews", json={"reaction": "ok"})
        assert done.status_code == 202, done.text
        await stack.quiet()
        [row] = await stack.rows("select user_id from reporting.feedbacks where origin = 'reviewer'")
        assert row["user_id"] == "account:rita"
        shown = await rita.get("/dashboard/conversation?id=c1&at=acme/support")
        assert "rita" in shown.text


async def test_roles_have_their_scopes(stack: RunningStack) -> None:
    export, rules = "/conversations/acme/support/exports/events", "/conversations/acme/support/alerts/rules"
    rule = {"kind": "silence", "name": "quiet", "channels": []}
    for role, statuses in (("reviewer", (403, 403, 403)), ("operator", (200, 204, 403)), ("admin", (200, 204, 202))):
        async with signed_in(stack, f"one-{role}", role, "acme/*") as http:
            said = (await http.get(export)).status_code, (await http.post(rules, json=rule)).status_code
            assert tuple(200 if one == 204 else one for one in said) == tuple(
                200 if one == 204 else one for one in statuses[:2]
            ), role
            assert (await http.delete("/tenants/acme/users/nobody")).status_code == statuses[2], role


async def test_a_link_works_once_and_only_if_it_is_the_newest(stack: RunningStack) -> None:
    path = await invited(stack, "lena", "reader", "acme/support")
    async with browser(stack) as http:
        assert "lena" in (await http.get(path)).text
        form = {"link": path.partition("link=")[2], "password": PASSWORD, "again": PASSWORD}
        for wrong, status in (
            ({"again": "other horse"}, 422), ({"password": "short", "again": "short"}, 422),
            ({"password": "x" * 1025, "again": "x" * 1025}, 422), ({"link": "afl_" + "x" * 43}, 410),
            ({"link": ""}, 410),
        ):  # fmt: skip
            assert (await http.post("/set-password", data=form | wrong)).status_code == status, wrong
        statuses = [
            one.status_code for one in await asyncio.gather(*(http.post("/set-password", data=form) for _ in "abc"))
        ]
        assert sorted(statuses) == [303, 410, 410]
        assert (await http.get(path)).status_code == 410
    async with browser(stack, headers={"Authorization": "Bearer all"}) as admin:
        pages = [(await admin.post("/dashboard/access/accounts", data={"link": "lena"})).text for _ in "ab"]
        links = [re.search(r"link=(afl_[\w-]+)", page) for page in pages]
        async with browser(stack) as http:
            for link, status in zip(links, (410, 303), strict=True):
                assert link
                said = await http.post("/set-password", data=form | {"link": link[1]})
                assert said.status_code == status


async def test_disabling_ends_the_sessions(stack: RunningStack) -> None:
    async with signed_in(stack, "max", "reader", "acme/support") as first, browser(stack) as admin:
        assert (await first.get("/access/caller")).status_code == 200
        headers = {"Authorization": "Bearer all"}
        await admin.post("/dashboard/access/accounts", data={"disable": "max"}, headers=headers)
        assert (await first.get("/access/caller")).status_code == 401
        form = {"name": "max", "password": PASSWORD, "next": "/"}
        assert (await first.post("/sign-in/password", data=form)).status_code == 422
        await admin.post("/dashboard/access/accounts", data={"enable": "max"}, headers=headers)
        assert (await first.get("/access/caller")).status_code == 401, "the session has ended for good"
        back = await first.post("/sign-in/password", data=form | {"next": "/dashboard/issues"})
        assert (back.status_code, back.headers["location"]) == (303, "/dashboard/issues")
        [cookie] = back.headers.get_list("set-cookie")
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        elsewhere = await first.post("/sign-in/password", data=form | {"next": "//evil.example/"})
        assert elsewhere.headers["location"] == "/"
        await admin.post("/dashboard/access/accounts", data={"remove": "max"}, headers=headers)
        assert (await first.get("/access/caller")).status_code == 401
        assert (
            await admin.post("/dashboard/access/accounts", data={"link": "max"}, headers=headers)
        ).status_code == 404


async def test_another_password_ends_other_sessions(stack: RunningStack) -> None:
    async with signed_in(stack, "pia", "reader", "acme/support") as here, browser(stack) as there:
        form = {"name": " PIA ", "password": PASSWORD}
        assert (await there.post("/sign-in/password", data=form)).status_code == 303
        change = {"current": PASSWORD, "password": "another horse", "again": "another horse"}
        assert (await here.post("/dashboard/access", data=change | {"current": "wrong one"})).status_code == 403
        assert (await here.post("/dashboard/access", data=change | {"again": "typo typo"})).status_code == 422
        assert (await here.post("/dashboard/access", data=change)).status_code == 200
        assert (await here.get("/access/caller")).status_code == 200
        assert (await there.get("/access/caller")).status_code == 401
        assert (await there.post("/sign-in/password", data=form)).status_code == 422
        assert (await there.post("/sign-in/password", data=form | {"password": "another horse"})).status_code == 303
        assert (await there.post("/sign-out")).status_code == 303
        assert (await there.get("/access/caller")).status_code == 401


async def test_an_admin_of_a_project_manages_its_accounts_only(stack: RunningStack) -> None:
    await invited(stack, "far", "reader", "globex/support")
    await invited(stack, "wide", "reader", "acme/*")
    path = "/dashboard/access/accounts"
    async with signed_in(stack, "chief", "admin", "acme/support") as chief:
        page = (await chief.get("/dashboard/access")).text
        assert "<b>chief</b>" in page and "<b>far</b>" not in page and "<b>wide</b>" not in page
        for form, status in (
            ({"name": "x1", "role": "reader", "places": "acme/sales"}, 403),
            ({"name": "x1", "role": "reader", "places": "acme/*"}, 403),
            ({"name": "x1", "role": "reader", "places": "globex/support"}, 403),
            ({"name": "x1", "role": "reader", "places": "*/*"}, 403),
            ({"name": "x1", "role": "owner", "places": "acme/support"}, 422),
            ({"name": "x1", "role": "reader", "places": "acme"}, 422),
            ({"name": "x 1", "role": "reader", "places": "acme/support"}, 422),
            ({"name": "far", "role": "reader", "places": "acme/support"}, 409),
            ({"link": "far"}, 404), ({"disable": "wide"}, 404), ({"remove": "far"}, 404), ({"remove": "chief"}, 409),
            ({"disable": " Chief "}, 409), ({"remove": "no name"}, 422),
            ({"change": "wide", "role": "reader", "places": "acme/support"}, 404),
            ({"name": "x1", "role": "reader", "places": "acme/support"}, 200),
            ({"change": "x1", "role": "reader", "places": "acme/sales"}, 403),
            ({"change": "x1", "role": "reviewer", "places": "acme/support"}, 200),
        ):  # fmt: skip
            assert (await chief.post(path, data=form)).status_code == status, form


async def test_forms_of_other_sites_are_refused(stack: RunningStack) -> None:
    async with browser(stack, headers={"Sec-Fetch-Site": "same-site"}) as http:
        assert (await http.post("/sign-in/password", data={"name": "a", "password": PASSWORD})).status_code == 403
        assert (await http.post("/set-password", data={"link": "x"})).status_code == 403
        headers = {"Authorization": "Bearer all"}
        for path in ("/sign-out", "/dashboard/access", "/dashboard/access/accounts"):
            assert (await http.post(path, data={"name": "x"}, headers=headers)).status_code == 403
        hostile = b"name=%00&password=%ff\xff"
        assert (await http.post("/sign-in/password", content=hostile, headers=FORM)).status_code == 403
    async with browser(stack) as http:
        assert (await http.post("/sign-in/password", content=hostile, headers=FORM)).status_code == 422
        assert (
            await http.post("/sign-in/password", content=b"name=%00%ff&password=%00", headers=FORM)
        ).status_code == 422
        assert (await http.post("/sign-in/password", json={"name": "a"})).status_code == 422


async def test_failed_sign_ins_are_limited_by_name_and_address(postgres_url: str) -> None:
    clock = HandClock()
    async with empty_schema(postgres_url, "reporting") as pool:
        accounts, sessions = Accounts(pool, clock), AccountSessions(pool, clock, 7, QUICK)
        link = await accounts.add("ann", "reader", ["acme/support"], EVERYWHERE, "test")
        await sessions.use_link(link, PASSWORD)
        for name in ("ann", "nobody"):
            wrong = [await sessions.sign_in(name, "wrong", f"10.0.0.{n}") for n in range(MOST_BY_NAME + 1)]
            assert [one.wait for one in wrong[:-1]] == [0] * MOST_BY_NAME
            assert wrong[-1].wait > 0, name
        assert (await sessions.sign_in("ann", PASSWORD, "10.0.0.99")).session is None, "also the right one"
        clock.forward((WINDOW) / 1_000_000)
        assert (await sessions.sign_in("ann", PASSWORD, "10.0.0.99")).session is not None
        waits = [(await sessions.sign_in(f"n{n}", "", "10.1.1.1")).wait for n in range(MOST_BY_ADDRESS + 1)]
        assert (waits[-2], waits[-1] > 0) == (0, True)
        assert await pool.fetchval("select count(*) from sign_in_attempts where subject::text like '%ann%'") == 0


async def test_sessions_and_links_expire(postgres_url: str) -> None:
    clock = HandClock()
    async with empty_schema(postgres_url, "reporting") as pool:
        accounts, sessions = Accounts(pool, clock), AccountSessions(pool, clock, 7, QUICK)
        late = await accounts.add("late", "reader", ["acme/support"], EVERYWHERE, "test")
        session = await sessions.use_link(await accounts.add("ann", "reader", ["acme/*"], EVERYWHERE, "test"), PASSWORD)
        caller = await sessions.authenticate(session)
        assert caller and (caller.tenant, caller.project, caller.scopes) == ("acme", None, frozenset({"read"}))
        stored = str(await pool.fetch("select * from account_sessions, account_secrets"))
        assert session not in stored and late not in stored and PASSWORD not in stored
        with_link = await pool.fetch("select name from account_secrets where link_hash is not null")
        assert [row["name"] for row in with_link] == ["late"], "a used link is forgotten"
        clock.forward((LINK_DAYS * DAY) / 1_000_000)
        with pytest.raises(RequestRefused, match="expired"):
            await sessions.use_link(late, PASSWORD)
        clock.forward((7 * DAY - LINK_DAYS * DAY - MINUTE) / 1_000_000)
        assert await AccountSessions(pool, clock, 7, QUICK).authenticate(session) is not None
        clock.forward((MINUTE) / 1_000_000)
        assert await AccountSessions(pool, clock, 7, QUICK).authenticate(session) is None


async def test_another_service_asks_reporting(stack: RunningStack) -> None:
    async with signed_in(stack, "remote", "reviewer", "acme/support", "acme/sales") as http:
        token = http.cookies["agent_feedback_token"]
    [sessions, _] = stack.stack.authenticators
    transport = httpx.ASGITransport(stack.app(sessions, seconds=60))
    remote = RemoteAccounts("http://reporting", SystemClock(), transport)
    assert await remote.authenticate(token) == await sessions.authenticate(token)
    assert await remote.authenticate("afs_" + "x" * 43) is None
    assert await remote.authenticate("all") is None
    await remote.close()


@pytest.mark.parametrize("lacks", sorted(SCOPES["admin"]))
async def test_nobody_gives_access_that_they_lack(stack: RunningStack, lacks: str) -> None:
    class OneToken:
        async def authenticate(self, token: str) -> Caller | None:
            return Caller("eraser", "acme", None, SCOPES["admin"] - {lacks})

    transport = httpx.ASGITransport(stack.app(OneToken(), seconds=60))
    headers = {"Authorization": "Bearer x"}
    async with httpx.AsyncClient(transport=transport, base_url="http://stack", headers=headers) as http:
        for path, form in (
            ("accounts", {"name": f"mole-{lacks}", "role": "reader", "place": "acme/support"}),
            ("keys", {"name": f"mole-{lacks}", "scope": "read", "place": "acme/support", "days": "9"}),
        ):
            said = await http.post(f"/dashboard/access/{path}", data=form)
            assert said.status_code == 403, path
    for table in ("accounts", "api_keys"):
        assert await stack.rows(f"select * from reporting.{table} where name like 'mole-%'") == []
