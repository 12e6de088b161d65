"""Rows of another tenant or project under the same ids change none of our rows or responses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from reporting.http.conversations import conversations_router
from reporting.http.figures import figures_router
from reporting.pages.routes import pages_router
from reporting.parts import SCHEMA
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import FixedClock
from servicekit.db import row_security
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from servicekit.errors import StartError
from tests.support.databases import new_database, schema_file
from tests.support.neighbours import ANN, CONVERSATIONS, NEIGHBOURS, OURS, POSITIONS, Place, feedbacks, messages
from tests.support.reporting_client import CALLERS, application, client
from tests.support.reporting_events import START, batch, feedback, message

NOW = FixedClock(START + 3_600_000_000)


PROJECT = f"/conversations/{OURS.tenant}/{OURS.project}"


CONVERSATION = f"{PROJECT}/{OURS.conversation}"


FROM, TO = "2026-09-21T00:00:00Z", "2026-09-22T00:00:00Z"


WINDOW = {"start": FROM, "end": TO}


PAGE = f"at={OURS.tenant}/{OURS.project}"


QUESTIONS: list[tuple[str, str, Any]] = [
    ("POST", f"{PROJECT}/feedback/conversations-in-period", WINDOW | {"include_turns": True}),
    ("POST", f"{PROJECT}/feedback/conversations-in-period", WINDOW | {"include_turns": True, "limit": 1}),
    ("POST", f"{PROJECT}/feedback/artifacts", {"conversation_id": OURS.conversation, "with_payload": True}),
    ("POST", f"{PROJECT}/feedback/artifacts", {"scope": "user", "user_id": ANN, "with_payload": True}),
    ("POST", f"{PROJECT}/feedback/artifacts", {"conversation_id": OURS.conversation, "all_tags": ["turn:t1"]}),
    ("POST", f"{PROJECT}/feedback/search", {}),
    ("POST", f"{PROJECT}/feedback/search", {"user_id": ANN, "limit": 1}),
    ("POST", f"{PROJECT}/feedback/search", {"words": "acme"}),
    ("POST", f"{CONVERSATION}/turns-with-feedbacks", {}),
    ("POST", f"{CONVERSATION}/turns-with-feedbacks", {"turn_ids": ["t1", "t2", "t9"]}),
    ("POST", f"{CONVERSATION}/feedback/latest", {}),
    ("POST", f"{CONVERSATION}/feedback/latest", {"turn_ids": ["t1"], "since": FROM}),
    ("GET", f"{CONVERSATION}/turns/t1/feedback", None),
    ("GET", f"{CONVERSATION}/turns/t2/feedback", None),
    ("GET", f"{PROJECT}/feedback/summary", None),
    ("GET", f"{PROJECT}/feedback/agents?min_votes=1", None),
    ("GET", f"{PROJECT}/feedback/compare?by=agent&a=bot&b=other", None),
    ("GET", f"/dashboard/compare?{PAGE}&dimension=agent", None),
    ("GET", f"{PROJECT}/feedback/calibration", None),
    ("GET", "/", None),
    ("GET", f"/?{PAGE}&period=all", None),
    ("GET", f"{PROJECT}/feedback/reasons", None),
    ("GET", f"/dashboard/feedback?{PAGE}&period=all", None),
    ("GET", f"/dashboard/feedback?{PAGE}&period=all&q=acme", None),
    ("GET", f"/dashboard/feedback.csv?{PAGE}", None),
    ("GET", f"/dashboard/feedback.jsonl?{PAGE}&user={ANN}", None),
    ("GET", f"/dashboard/agent?{PAGE}&agent=bot", None),
    ("GET", f"/dashboard/review?{PAGE}&period=all", None),
    ("GET", f"/dashboard/accuracy?{PAGE}&period=all", None),
    ("GET", f"/dashboard/review?{PAGE}&period=all", None),
    ("GET", f"/dashboard/conversation?tenant={OURS.tenant}&project={OURS.project}&id={OURS.conversation}", None),
    (
        "GET",
        f"/dashboard/conversation?tenant={OURS.tenant}&project={OURS.project}&id={OURS.conversation}&turn=t1",
        None,
    ),
]
"""A query for each route about a project."""


NO_QUESTION = {"/dashboard/assets/{name}", "/sign-in"}
"""Routes whose responses do not depend on stored data."""


OF_TENANT = {"/dashboard/sessions", "/conversations/{tenant}/sessions"}
"""Routes about a whole tenant; `test_reporting_sessions.py` queries them."""


ASKED_ELSEWHERE = {"/dashboard/issues", "/dashboard/issue", "/dashboard/alerts"}
"""Pages that need other data; `test_reporting_issues.py` and `test_alerts_page.py` query them."""


def routers(read_models: Any) -> list[APIRouter]:
    return [
        conversations_router(read_models, NOW, "s3://logs"),
        figures_router(read_models, NOW),
        pages_router(read_models, NOW),
    ]


async def fill(read_models: asyncpg.Pool, place: Place, at: float, revision: int = 1) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(
        batch(*messages(place, at=at), *feedbacks(place, at=at, revision=revision))
    )


def of_conversation(path: str, body: Any) -> bool:
    """Return True if the query concerns only our own conversation."""
    return CONVERSATION in path or f"id={OURS.conversation}" in path or "conversation_id" in (body or {})


async def answers(read_models: asyncpg.Pool, kind: str = "another tenant") -> dict[str, Any]:
    """Return the responses to OURS by query: those that a neighbour of that kind must not change."""
    asked = [question for question in QUESTIONS if kind in NEIGHBOURS or of_conversation(*question[1:])]
    async with client(routers(read_models), "acme") as http:
        return {f"{method} {path} {body}": await answer(http, method, path, body) for method, path, body in asked}


async def answer(http: httpx.AsyncClient, method: str, path: str, body: Any) -> Any:
    response = await http.request(method, path, json=body)
    assert response.status_code == 200, (path, response.text)
    if response.headers["content-type"] != "application/json":
        return re.sub(r'data-stamp="[^"]*"', "", response.text)
    return {name: value for name, value in response.json().items() if name not in POSITIONS}


async def rows(read_models: asyncpg.Pool) -> dict[str, Any]:
    """Return our rows of every table, without the transaction ids that wrote them."""
    found = {}
    for table in ("messages", "feedbacks"):
        ours = await read_models.fetch(
            f"select * from {table} where tenant = $1 and project = $2 and conversation_id = $3", *OURS
        )
        found[table] = sorted(repr({k: v for k, v in row.items() if k != "written_by"}) for row in ours)
    return found


@pytest.mark.parametrize("at", [-900.0, 900.0], ids=["earlier", "later"])
@pytest.mark.parametrize("kind", CONVERSATIONS)
async def test_a_neighbour_changes_no_row_and_no_answer(read_models: asyncpg.Pool, kind: str, at: float) -> None:
    await fill(read_models, OURS, 0)
    before = await answers(read_models, kind), await rows(read_models)
    await fill(read_models, CONVERSATIONS[kind], at, revision=9)
    after = await answers(read_models, kind), await rows(read_models)
    assert after[1] == before[1]
    for question, found in after[0].items():
        assert found == before[0][question], question


async def test_every_answer_shows_something_of_ours(read_models: asyncpg.Pool) -> None:
    """A response that is empty anyway would prove nothing."""
    await fill(read_models, OURS, 0)
    for question, found in (await answers(read_models)).items():
        assert re.search(r"a[12]\b|'ok'|t1|bot|None of the [1-9] |[1-9] turns? (is|are) left", str(found)), question


def test_every_route_is_asked() -> None:
    for router in routers(None):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            if route.path_format in NO_QUESTION | OF_TENANT | ASKED_ELSEWHERE:
                continue
            asked = [path for method, path, _ in QUESTIONS if method in (route.methods or ())]
            assert any(route.path_regex.match(path.partition("?")[0]) for path in asked), route.path


# Connections that read for callers see one tenant's rows, whatever the statement.

TENANTS = "select array_agg(distinct tenant order by tenant) from {}"


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[str]:
    async with new_database(postgres_url, "reporting") as url:
        yield url


@pytest.fixture
async def reads(database: str) -> AsyncIterator[asyncpg.Pool]:
    """Yield a reading pool of one connection over rows of two tenants that share all ids."""
    async with await open_pool(database, "reporting", SCHEMA) as pool:
        for tenant in ("acme", "globex"):
            said = message("m1", turn="t1", content="hello", tenant=tenant)
            given = feedback(f"{tenant} f1", turn="t1", kind="explicit", reaction="ok", tenant=tenant)
            replied = feedback(f"{tenant} r1", turn="t1", kind="implicit", tenant=tenant)
            await ProjectionHandler(PostgresReadModels(pool)).handle(batch(said, given, replied))
            await pool.execute("insert into erasures values ($1, 'bob', 'r', 1)", tenant)
        reading = await open_pool(database, "reporting", SCHEMA, size=1, tenants_apart=True)
        yield reading
        await reading.close()


async def test_work_side_by_side_keeps_to_its_own(reads: asyncpg.Pool) -> None:
    async def ask(number: int) -> bool:
        tenant = ("acme", "globex")[number % 2]
        tenant_in_sight.set(tenant)
        try:
            async with asyncio.timeout(0.002 * (number % 5) if number % 3 else 20):
                await reads.fetchval("select pg_sleep(0.001)")
                return bool(await reads.fetchval(TENANTS.format("feedbacks")) == [tenant])
        except TimeoutError:
            return True  # cut off in the middle, as by a deadline: the next one must not see its rows

    assert all(await asyncio.gather(*(ask(number) for number in range(60))))


async def test_readers_only_read(reads: asyncpg.Pool) -> None:
    tenant_in_sight.set("acme")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await reads.execute("delete from feedbacks")


async def test_requests_read_through_it(reads: asyncpg.Pool) -> None:
    """Each caller sees their own rows, and nothing remains between two requests."""
    app = application([conversations_router(reads, NOW), pages_router(reads, NOW)])
    transport = httpx.ASGITransport(app)
    assert CALLERS["acme"].tenant and CALLERS["globex"].tenant
    async with httpx.AsyncClient(transport=transport, base_url="http://reporting") as http:
        for token, tenant in (("acme", "acme"), ("globex", "globex"), ("all", "globex"), ("acme", "acme")):
            headers = {"Authorization": f"Bearer {token}"}
            path = f"/conversations/{tenant}/support/c1/turns-with-feedbacks"
            answer = await http.post(path, json={}, headers=headers)
            assert [len(turn["feedbacks"]) for turn in answer.json()["turns"]] == [1], answer.text
            front = await http.get("/", headers=headers)
            assert front.status_code == 200
            assert ("globex" in front.text, "acme" in front.text) == (token != "acme", token != "globex")


async def test_a_table_that_comes_later_is_walled_as_well(reads: asyncpg.Pool, database: str) -> None:
    owner = await asyncpg.connect(database)
    try:
        await owner.execute("create table reporting.later as select tenant from reporting.feedbacks")
        again = await open_pool(database, "reporting", SCHEMA, size=1, tenants_apart=True)
        tenant_in_sight.set("acme")
        assert await again.fetchval(TENANTS.format("later")) == ["acme"]
        await again.close()
    finally:
        await owner.close()


async def test_an_owner_who_may_make_roles_reads_through_its_own(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From PostgreSQL 16 on, whoever makes a role administers it, but may switch to it only after a grant."""
    monkeypatch.setattr(row_security, "READER", "other_reader")
    tables = schema_file(tmp_path, "create table kept (tenant text, n int)")
    admin = await asyncpg.connect(postgres_url)
    try:
        await admin.execute("create role maker login createrole; create schema made authorization maker")
        await admin.execute("grant create on database postgres to maker")
        url = postgres_url.replace("postgres@", "maker@", 1)
        for _ in range(2):  # a restart finds the role
            pool = await open_pool(url, "made", tables, size=1, tenants_apart=True)
            await admin.execute("truncate made.kept; insert into made.kept values ('acme', 1), ('globex', 2)")
            for tenant, seen in (("acme", [1]), ("globex", [2]), ("", []), (EVERY_TENANT, [1, 2])):
                tenant_in_sight.set(tenant)
                assert [row["n"] for row in await pool.fetch("select n from kept order by n")] == seen
            await pool.close()
    finally:
        await admin.execute("drop owned by maker, other_reader cascade; drop role maker; drop role other_reader")
        await admin.close()


async def test_a_user_who_may_not_make_the_role_is_told_what_to_do(postgres_url: str, tmp_path: Path) -> None:
    owner = await asyncpg.connect(postgres_url)
    try:
        await owner.execute("create role plain login; create schema plain authorization plain")
        await owner.execute("grant create on database postgres to plain")
        url = postgres_url.replace("postgres@", "plain@", 1)
        with pytest.raises(StartError, match="grant agent_feedback_reader to"):
            await open_pool(url, "plain", schema_file(tmp_path), size=1, tenants_apart=True)
    finally:
        await owner.execute("drop owned by plain cascade; drop role plain")
        await owner.close()
