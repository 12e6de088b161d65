"""Erasure of people whose id is a dot segment, which clients resolve in a path."""

from __future__ import annotations

import asyncpg
import httpx
import pytest

from reporting.pages.erasure import ERASE, erasure_router
from standalone.cli.erase import segment_of
from tests.support.reporting_client import client


@pytest.mark.parametrize("id_", [".", "..", "...", "a.b", "a/b", "ä"])
def test_the_command_sends_the_id_as_it_is(id_: str) -> None:
    url = httpx.URL(f"http://localhost/tenants/acme/users/{segment_of(id_)}")
    assert url.path == f"/tenants/acme/users/{id_}" and url.raw_path.count(b"/") == 4


async def test_the_page_refuses_what_a_browser_would_resolve(read_models: asyncpg.Pool) -> None:
    async with client([erasure_router(read_models)]) as http:
        for user, status in ((".", 400), ("..", 400), ("...", 200), ("ann", 200)):
            assert (await http.get(ERASE, params={"tenant": "acme", "user": user})).status_code == status, user


async def test_the_page_opens_before_there_is_any_data(read_models: asyncpg.Pool) -> None:
    for token, field in (("all", '<select name="tenant"></select>'), ("acme-admin", 'name="tenant" value="acme"')):
        async with client([erasure_router(read_models)], token) as http:
            answer = await http.get(ERASE)
        assert (answer.status_code, field in answer.text) == (200, True), token
