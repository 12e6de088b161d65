"""All services on a PostgreSQL that rejects writes or is paused: readiness and the response of every route."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio

from agent_feedback_kit.sessions.postgres import PostgresBackend
from agent_feedback_kit.sessions.recorder import record_session_feedback
from feedback.settings import FeedbackSettings
from servicekit.clock import SystemClock
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.databases import server_folder
from tests.support.running_stack import CALLERS, RunningStack, Tokens, exchange, running_stack
from tests.support.waits import PATIENCE_SECONDS

C1 = "/conversations/acme/support/c1"
WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2026-12-31T00:00:00Z"}
FIGURES = f"start={WINDOW['start']}&end={WINDOW['end']}"
SAID = {"text": "No, that is wrong.", "user_id": "ann", "turn_id": "t3"}
NEED_THE_DATABASE: list[tuple[str, str, Any]] = [
    ("POST", f"{C1}/turns/t1/feedback", {"reaction": "ok"}),
    ("GET", f"{C1}/turns/t1/feedback?user_id=ann", None),
    ("POST", f"{C1}/feedback/latest", {}),
    ("POST", f"{C1}/turns-with-feedbacks", {}),
    ("GET", f"{C1}/turns/t1/metadata", None),
    ("POST", f"{C1}/detect", SAID),
    ("POST", "/conversations/acme/support/strategies/search", {"intent": "hours"}),
    ("POST", "/conversations/acme/support/feedback/search", WINDOW),
    ("POST", "/conversations/acme/support/feedback/conversations-in-period", WINDOW),
    ("GET", f"/conversations/acme/support/feedback/summary?{FIGURES}", None),
    ("GET", "/api/memory/status?thread_id=c1", None),
    ("GET", "/tenants/acme/erasures/r1", None),
    ("GET", "/", None),
]
"""A query to each service and kind of page. Each needs a connection of a shared pool."""


LATE = "There was no answer within 1 s: the database does not answer; send this again later."
SLOW = "There was no answer within 1 s; send this again later."
"""Response of a busy machine: the deadline passed before the request's first query, for example in `detect`."""


class Ahead(SystemClock):
    """System clock whose monotonic time can be advanced."""

    seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.seconds


CLOCK = Ahead()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncIterator[EmbeddedPostgres]:
    """PostgreSQL that no other test uses."""
    with server_folder() as folder:
        async with EmbeddedPostgres(Path(folder) / "data") as running:
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(server: EmbeddedPostgres) -> AsyncIterator[RunningStack]:
    default = str(FeedbackSettings.model_fields["session_seconds"].default)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FEEDBACK_SESSION_SECONDS", default)
        async with running_stack(server.url, lambda around: replace(around, clock=CLOCK)) as running:
            await running.publish(*exchange("c1", "t1"))
            await running.quiet()
            yield running


async def test_a_database_that_refuses_to_write_is_not_ready(stack: RunningStack) -> None:
    async with read_only(stack.database_url):
        await stack.publish(*exchange("c2", "t2"))
        assert await stack.stack.not_ready() is None, "it may be over in a moment"
        await until(stack, lambda why: why is None or "read-only" not in why, ahead=31)
        async with stack.client() as http:
            assert (await http.get(f"{C1}/turns/t1/metadata")).status_code == 200
    await until(stack, lambda why: why is not None)
    await stack.quiet()
    async with stack.client() as http:
        assert (await http.get("/conversations/acme/support/c2/turns/t2/metadata")).status_code == 200


async def test_a_database_that_stands_still_holds_nobody(server: EmbeddedPostgres, stack: RunningStack) -> None:
    """Every route keeps one deadline, also while others wait for its connection."""
    transport = httpx.ASGITransport(stack.app(Tokens(), seconds=1.0))
    headers = {"Authorization": "Bearer acme"}
    assert CALLERS["acme"].tenant == "acme"
    async with httpx.AsyncClient(transport=transport, base_url="http://stack", headers=headers) as http:
        with standing_still(server):
            began = monotonic()
            answers = await asyncio.gather(
                *(http.request(method, path, json=body) for method, path, body in NEED_THE_DATABASE * 2)
            )
            assert monotonic() - began < PATIENCE_SECONDS
            for (_, path, _), answer in zip(NEED_THE_DATABASE * 2, answers, strict=True):
                assert answer.status_code == 503, (path, answer.text)
                if path == "/":
                    assert answer.headers["content-type"].startswith("text/html")
                    assert LATE in answer.text or SLOW in answer.text, path
                elif not path.startswith("/api/memory"):  # the kit's own connection, with a time limit of its own
                    assert answer.json()["detail"] in (LATE, SLOW), path
                assert answer.headers["retry-after"], path
            assert any(LATE in answer.text for answer in answers)
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert "does not answer" in str(await stack.stack.not_ready())
    await until(stack, lambda why: why is not None)
    async with stack.client("acme") as http:
        for method, path, body in NEED_THE_DATABASE:
            assert (await http.request(method, path, json=body)).status_code in (200, 202, 303, 404), path
    await stack.quiet()


async def test_a_session_ends_on_time_while_the_database_stands_still(
    server: EmbeddedPostgres, stack: RunningStack
) -> None:
    """Cancelling a query waits for the database, so neither the route nor the kit may wait for it."""
    ends = "/api/threads/c1/end"
    pool = await asyncpg.create_pool(stack.database_url, min_size=1, server_settings={"search_path": "feedback"})
    async with stack.client("ann") as http:
        assert (await http.post(ends, json={"feedback": "positive"})).status_code == 200
        with standing_still(server):
            began = monotonic()
            answer = await http.post(ends, json={"feedback": "negative"})
            assert (answer.status_code, answer.json()) == (200, {"status": "ended"})
            assert monotonic() - began < PATIENCE_SECONDS
            began = monotonic()
            backend = PostgresBackend(pool)
            assert await record_session_feedback("c1", "positive", "api_end", turn_count=1, backend=backend) is None
            assert monotonic() - began < PATIENCE_SECONDS
    pool.terminate()
    await until(stack, lambda why: why is not None)


async def until(stack: RunningStack, unlike: Any, ahead: float = 0.0) -> None:
    """Wait until `unlike` is false for the readiness; monotonic clocks advance by `ahead` seconds each time."""
    async with asyncio.timeout(60):
        while unlike(await stack.stack.not_ready()):
            CLOCK.seconds += ahead
            await asyncio.sleep(0.1)


@asynccontextmanager
async def read_only(url: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("set default_transaction_read_only = off")
        await connection.execute("alter system set default_transaction_read_only = on")
        await connection.execute("select pg_reload_conf()")
        try:
            yield
        finally:
            await connection.execute("alter system reset default_transaction_read_only")
            await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


@contextmanager
def standing_still(server: EmbeddedPostgres) -> Iterator[None]:
    """Pause the server's processes, its first one and those of all connections; sockets stay open.

    The first one is paused first and resumed last, so that no process is started in between, and an ended one keeps its
    id.
    """
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    others = children_of(server.pid)
    try:
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in (*others, server.pid):
            os.kill(pid, signal.SIGCONT)


def children_of(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
