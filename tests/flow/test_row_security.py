"""PostgreSQL as the second check of every response: no route shows rows that a policy hides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio

from feedback.parts import SCHEMA as FEEDBACK
from inference.parts import SCHEMA as INFERENCE
from reporting.parts import SCHEMA as REPORTING
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from tests.support.neighbours import NEIGHBOURS, OURS, chat_events
from tests.support.running_stack import RunningStack, running_stack

Ask = Callable[[httpx.AsyncClient], Awaitable[Any]]
READING = {"feedback": FEEDBACK, "inference": INFERENCE, "reporting": REPORTING}
"""Services that read for callers, with their schema files."""
SUPPORT = "/conversations/acme/support"
C1 = f"{SUPPORT}/c1"
SAID = {"text": "No, that is wrong.", "ts": "2026-01-01T10:05:00Z", "user_id": "ann", "turn_id": "t3"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def filled(postgres_url: str) -> AsyncIterator[RunningStack]:
    """Yield a stack with our chat and another tenant's, a rating and an erasure in each."""
    async with running_stack(postgres_url) as running:
        for place in (OURS, NEIGHBOURS["another tenant"]):
            await running.publish(*chat_events(place))
            await running.quiet()
            async with running.client() as http:
                rated = {"feedback": "positive", "tenant": place.tenant, "user_id": "ann"}
                assert (await http.post("/api/threads/c1/end", json=rated)).is_success
                judged = {"reaction": "ok", "user_id": "bob"}
                turn = f"/conversations/{place.tenant}/{place.project}/c1/turns/t2/feedback"
                assert (await http.post(turn, json=judged)).is_success
                assert (await http.delete(f"/tenants/{place.tenant}/users/nobody")).is_success
        await running.quiet()
        yield running


def status(method: str, path: str, **sent: Any) -> Ask:
    async def ask(http: httpx.AsyncClient) -> int:
        return (await http.request(method, path, **sent)).status_code

    return ask


def part(method: str, path: str, *names: str, **sent: Any) -> Ask:
    async def ask(http: httpx.AsyncClient) -> Any:
        found = (await http.request(method, path, **sent)).json()
        for name in names:
            found = found[name]
        return found

    return ask


async def erasure(http: httpx.AsyncClient) -> int:
    [request] = [row[0] for row in ERASURES]
    return (await http.get(f"/tenants/acme/erasures/{request}")).status_code


ERASURES: list[Any] = []
QUESTIONS: list[tuple[str, Ask, Any]] = [
    ("inference.turns", status("GET", f"{C1}/turns/t1/metadata"), 404),
    ("inference.turns", part("POST", f"{SUPPORT}/strategies/search", "items", json={"intent": "hours"}), []),
    ("inference.messages", part("POST", f"{C1}/detect", "target", json=SAID), None),
    ("feedback.messages", status("POST", f"{C1}/turns/t1/feedback", json={"reaction": "ok"}), 404),
    ("feedback.session_feedback", part("GET", "/api/memory/status?thread_id=c1", "session_feedback_count"), 0),
    ("feedback.erasure_requests", erasure, 404),
    ("reporting.feedbacks", part("GET", f"{C1}/turns/t1/feedback?user_id=bob", "reaction"), None),
]


@pytest.mark.parametrize(
    ("table", "ask", "nothing"), QUESTIONS, ids=[f"{n} {one[0]}" for n, one in enumerate(QUESTIONS)]
)
async def test_a_closed_table_answers_nobody(filled: RunningStack, table: str, ask: Ask, nothing: Any) -> None:
    ERASURES[:] = await filled.rows("select request_id from feedback.erasure_requests where tenant = 'acme'")
    async with filled.client("acme") as http:
        before = await ask(http)
        assert before != nothing
        async with closed(filled.database_url, table):
            assert await ask(http) == nothing
        assert await ask(http) == before


BOTH = {"feedbacks", "messages", "effective", "conv_messages", "erasures"}
"""Tables and views of reporting that must have rows of both tenants, so that hiding them shows."""
IN_SIGHT = ("acme", "globex", "", "acme", "none", EVERY_TENANT, "globex")
"""Tenants of a connection's requests, one after the other."""


@pytest.mark.parametrize("schema", READING)
async def test_readers_see_one_tenant_in_every_table_and_view(filled: RunningStack, schema: str) -> None:
    tables = await filled.rows(
        f"select table_name from information_schema.columns where column_name = 'tenant' and table_schema = '{schema}'"
    )
    assert len(tables) > 3
    assert schema != "reporting" or {row[0] for row in tables} >= BOTH
    reads = await open_pool(filled.database_url, schema, READING[schema], size=1, tenants_apart=True)
    try:
        for (table,) in tables:
            tenants = f"select distinct tenant from {schema}.{table} order by 1"
            held = [row[0] for row in await filled.rows(tenants)]
            assert schema != "reporting" or table not in BOTH or held == ["acme", "globex"], table
            for tenant in IN_SIGHT:
                tenant_in_sight.set(tenant)
                seen = [one for one in held if tenant in (one, EVERY_TENANT)]
                assert [row[0] for row in await reads.fetch(tenants)] == seen, (table, tenant)
    finally:
        await reads.close()


@asynccontextmanager
async def closed(url: str, table: str) -> AsyncIterator[None]:
    """Hide all rows of `table` from readers by a policy; its owner, which consumers use, sees all."""
    connection = await asyncpg.connect(url)
    try:
        schema, _, name = table.partition(".")
        policy = await connection.fetchval(
            "select qual from pg_policies where schemaname = $1 and tablename = $2", schema, name
        )
        await connection.execute(f"alter policy of_tenant on {table} using (false)")
        yield
        await connection.execute(f"alter policy of_tenant on {table} using ({policy})")
    finally:
        await connection.close()
