"""Callers repeat requests that may not have been accepted, and a proxy withholds commits and acceptances."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx
import pytest
from fastapi import FastAPI, Request, Response
from starlette.responses import JSONResponse

from proofs.chaos.callers import Caller
from proofs.chaos.ledger import EXPLICIT, Ledger, entries_of
from proofs.chaos.proxy import Door
from proofs.chaos.wire import commits
from servicekit.web.server import HttpServer

INGEST = "/ingest/{tenant}/{project}/events"
JUDGE = "/conversations/{tenant}/{project}/{conversation}/turns/{turn}/feedback"


@pytest.fixture
async def caller(tmp_path: Path) -> Any:
    """Yield a caller whose services answer every third request with 503, and note the bodies of the others."""
    app, bodies = FastAPI(), Counter[bytes]()

    @app.post(INGEST)
    async def ingest(request: Request) -> Response:
        return answer(await request.body(), {"accepted": 0, "refused": [], "refused_total": 0})

    @app.post(JUDGE)
    async def judge(request: Request) -> Response:
        return answer(await request.body(), {})

    def answer(body: bytes, content: dict[str, Any]) -> Response:
        app.state.requests = getattr(app.state, "requests", 0) + 1
        if app.state.requests % 3 == 0:
            return Response(status_code=503)
        bodies[body] += 1
        return JSONResponse(content | ({"accepted": len(body.splitlines())} if content else {}))

    server = HttpServer("127.0.0.1", 0)
    await server.start(app)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    fleet: Any = SimpleNamespace(port_of=lambda _: server.port)
    own = Caller(fleet, ledger, 5, [])
    for door in own.doors.values():
        await door.start()
    yield own, bodies, ledger
    for door in own.doors.values():
        await door.stop()
    ledger.close()
    await server.stop()


async def test_what_was_accepted_is_entered_once_and_repeated_if_its_response_was_cut(caller: Any) -> None:
    own, bodies, ledger = caller
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(12):
            await own.round(client)
    cut = sum(door.withheld for door in own.doors.values())
    entries = list(entries_of(ledger.path))
    assert own._wrong == [] and cut > 0 and own.repeats > cut
    assert sum(bodies.values()) - len(bodies) >= cut, "every cut response was to a body that came again"
    assert any(entry.topic == EXPLICIT for entry in entries)
    sent = {json.loads(line)["eventId"] for body in bodies for line in body.splitlines() if b'"topic"' in line}
    assert sent == {json.loads(entry.value or "")["eventId"] for entry in entries if entry.topic != EXPLICIT}


async def test_a_valid_request_that_is_refused_is_wrong(caller: Any) -> None:
    own, bodies, ledger = caller
    async with httpx.AsyncClient(trust_env=False) as client:
        assert await own._accepted(client, "feedback", "/nothing", b"{}", "application/json") is None
    assert "404" in own._wrong[0] and not bodies and ledger.count == 0


async def test_a_door_withholds_the_response_to_a_commit_and_no_other(own_database: str) -> None:
    query = parse_qs(urlsplit(own_database).query)
    door = Door(lambda: f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}", commits)
    await door.start()
    database = urlsplit(own_database).path
    through = f"postgresql://postgres@127.0.0.1:{door.port}{database}?sslmode=disable"
    beside = await asyncpg.connect(own_database)
    await beside.execute("create table t (n int)")
    door.withholds = lambda: True
    try:
        for n, in_transaction in enumerate((False, True)):
            connection = await asyncpg.connect(through)
            await connection.fetch("select 1")
            with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)):
                if in_transaction:
                    async with connection.transaction():
                        await connection.execute("insert into t values ($1)", n)
                        assert door.withheld == n, "an insert that can still be rolled back"
                else:
                    await connection.execute("insert into t values ($1)", n)
            assert door.withheld == n + 1
            connection.terminate()
        assert [row[0] for row in await beside.fetch("select n from t order by n")] == [0, 1]
    finally:
        await beside.close()
        await door.stop()
