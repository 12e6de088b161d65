"""Guards without a second one: no other test fails if one of them is removed."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx
import pytest
from fastapi import FastAPI, Request, Response

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from reporting.access.sign_in import sign_in_router
from reporting.model.selection import Project
from reporting.pages.visits import with_project
from servicekit.db.pools import open_pool
from servicekit.web.application import add_routes, application, guarded
from tests.support.databases import SCHEMAS
from tests.support.running_stack import Tokens

SERVICES = {
    one.PROGRAM.name: one for one in (chat_bridge.service, feedback.service, inference.service, reporting.service)
}


@pytest.mark.parametrize("service", SERVICES)
async def test_processes_that_start_at_once_create_the_tables_once(own_database: str, service: str) -> None:
    pools = await asyncio.gather(*(open_pool(own_database, service, SCHEMAS[service], size=1) for _ in range(6)))
    for pool in pools:
        await pool.close()
    connection = await asyncpg.connect(own_database)
    created = await connection.fetchval(f"select count(*) from {service}.schema_version")
    await connection.close()
    assert created == 1


@pytest.mark.parametrize(("scheme", "is_secure"), [("https", True), ("http", False)])
async def test_a_sign_in_cookie_is_for_this_site_alone(scheme: str, is_secure: bool) -> None:
    async def not_ready() -> None:
        return None

    app = application(not_ready)
    add_routes(app, [sign_in_router()])
    transport = httpx.ASGITransport(guarded(app, Tokens()))
    async with httpx.AsyncClient(transport=transport, base_url=f"{scheme}://stack") as http:
        answer = await http.post("/sign-in", content="token=all", headers={"Origin": f"{scheme}://stack"})
    assert answer.status_code == 303, answer.text
    flags = {flag.strip().lower() for flag in answer.headers["set-cookie"].split(";")[1:]}
    assert flags == {"httponly", "path=/", "samesite=lax", "max-age=34560000"} | ({"secure"} if is_secure else set())


@pytest.mark.parametrize(("scheme", "is_secure"), [("https", True), ("http", False)])
async def test_the_cookie_of_the_last_project_is_for_this_site_alone(scheme: str, is_secure: bool) -> None:
    async def shown(request: Request) -> Response:
        return with_project(request, Response("shown"), Project("acme", "support"))

    app = FastAPI()
    app.add_route("/", shown)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"{scheme}://stack") as http:
        answer = await http.get("/")
    flags = {flag.strip().lower() for flag in answer.headers["set-cookie"].split(";")[1:]}
    expected = {"httponly", "max-age=31536000", "path=/", "samesite=strict"}
    assert flags == expected | ({"secure"} if is_secure else set())
