"""The log of who read transcripts, exported, erased, or changed alert rules or access."""

from __future__ import annotations

import html
import json
import os
import pwd
import re
from collections.abc import AsyncIterator
from unittest.mock import ANY
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from standalone.terminal import FAILED
from tests.support.command import agent_feedback_beside
from tests.support.running_stack import RunningStack, exchange, running_stack

PLACE = "/conversations/acme/support"
ALERTS = "/dashboard/alerts?at=acme/support"
TRANSCRIPT = "/dashboard/conversation?at=acme/support&id=c1"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talked(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        await running.publish(*exchange("c1", "t1"))
        await running.publish(*({**event, "tenant": "globex"} for event in exchange("c1", "t1")))
        await running.quiet()
        yield running


@pytest.fixture
async def stack(talked: RunningStack) -> RunningStack:
    """Return the module's stack without entries and keys of other tests."""
    for table in ("access_log", "api_keys"):
        await talked.rows(f"delete from reporting.{table}")
    return talked


async def entries(stack: RunningStack) -> list[tuple[str | None, ...]]:
    connection = await asyncpg.connect(stack.database_url)
    try:
        rows = await connection.fetch(
            "select actor, action, about, tenant, project from reporting.access_log order by id"
        )
    finally:
        await connection.close()
    return [tuple(row.values()) for row in rows]


async def test_each_access_to_texts_is_logged_with_who_did_it(stack: RunningStack) -> None:
    async with stack.client("acme") as acme, stack.client("reviewer") as rita, stack.client("all") as local:
        for client in (rita, rita, acme):
            assert (await client.get(TRANSCRIPT)).status_code == 200
        turns = await rita.post(f"{PLACE}/c1/turns-with-feedbacks", json={})
        assert turns.status_code == 200
        assert (await rita.get("/dashboard/conversation?at=acme/support&id=unknown")).status_code == 404
        assert (await rita.get("/dashboard/feedback?at=acme/support")).status_code == 200
        for path in ("/dashboard/feedback.csv", f"{PLACE}/exports/kto"):
            assert (await acme.get(path, params={"at": "acme/support"} if "dash" in path else {})).status_code == 200
            assert (await rita.get(path)).status_code == 403
        rule = {"name": "few", "kind": "silence"}
        assert "was saved" in (await acme.post(ALERTS, data=rule)).text
        assert "was removed" in (await acme.post(ALERTS, data={"remove": "few"})).text
        added = {"name": "bo", "scope": "read", "place": "acme/support", "days": "9"}
        assert (await acme.post("/dashboard/access/keys", data=added)).status_code == 200
        refused = {**added, "place": "globex/support"}
        assert (await acme.post("/dashboard/access/keys", data=refused)).status_code == 403
        gone = await local.delete("/tenants/acme/users/someone")
        assert gone.status_code == 202
        choice = await local.put("/tenants/acme/users/someone/training", json={"allowed": False})
        assert choice.status_code == 202
        await stack.quiet()
    place = ("acme", "support")
    assert [one for one in await entries(stack) if one[2] != "few"] == [
        ("rita", "read", "c1", *place),
        ("ann", "read", "c1", *place),
        ("ann", "exported", "csv", *place),
        ("ann", "exported", "kto", *place),
        ("ann", "changed access", "key bo: created with read", "acme", None),
        ("local", "erased", gone.json()["request_id"], "acme", None),
        ("local", "changed training", ANY, "acme", None),
    ]
    assert ("ann", "changed rule", "few", *place) in await entries(stack)


async def test_searches_are_logged_if_they_return_texts(stack: RunningStack) -> None:
    async with stack.client("ann") as ann, stack.client("reviewer") as rita:
        assert (await ann.post(f"{PLACE}/c1/turns/t1/feedback", json={"reaction": "not_ok"})).status_code == 202
        await stack.quiet()
        period = {"start": "2020-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z"}
        for path, body in (
            ("feedback/search", {"user_id": "nobody"}),
            ("feedback/search", {}),
            ("feedback/search", {"reaction": "not_ok"}),
            ("feedback/artifacts", {"conversation_id": "c1"}),
            ("feedback/conversations-in-period", period),
            ("feedback/conversations-in-period", {**period, "include_turns": True}),
            ("c1/feedback/latest", {}),
        ):
            entries_before = await entries(stack)
            assert (await rita.post(f"{PLACE}/{path}", json=body)).status_code == 200, path
            if body in ({"user_id": "nobody"}, period):
                assert await entries(stack) == entries_before
    place = ("acme", "support")
    assert await entries(stack) == [
        ("rita", "searched", "search", *place),
        ("rita", "searched", "artifacts", *place),
        ("rita", "searched", "conversations-in-period", *place),
        ("rita", "read", "c1", *place),
    ]


async def test_administrators_see_the_entries_of_their_projects_alone(stack: RunningStack) -> None:
    async with stack.client("all") as local, stack.client("acme") as acme, stack.client("reviewer") as rita:
        assert (await local.get(TRANSCRIPT)).status_code == 200
        assert (await local.get(TRANSCRIPT.replace("acme", "globex"))).status_code == 200

        def links(page: str) -> list[str]:
            return [html.unescape(one) for one in re.findall(r'href="(/dashboard/conversation[^"]*)"', page)]

        assert len(links((await local.get("/dashboard/access")).text)) == 2
        (own,) = links((await acme.get("/dashboard/access")).text)
        assert "acme" in own
        assert (await acme.get(own)).status_code == 200
        assert "Access log" not in (await rita.get("/dashboard/access")).text


async def test_commands_are_noted_with_the_operating_systems_user(stack: RunningStack) -> None:
    async def command(*arguments: str, code: int = 0) -> str:
        ended = await agent_feedback_beside(*arguments, "--database", stack.database_url)
        assert ended.code == code, ended.err
        return ended.out

    place = ("--project", "acme/support")
    assert "There are no keys yet" in await command("keys", "list")
    await command("keys", "add", "crm", "--scope", "read", *place)
    assert re.search(r"crm +read +acme/support", await command("keys", "list"))
    [key] = json.loads(await command("keys", "list", "--json"))
    await command("keys", "revoke", key["id"])
    await command("keys", "revoke", str(UUID(int=0)), code=FAILED)
    who = f"command line: {pwd.getpwuid(os.getuid()).pw_name}"
    assert await entries(stack) == [
        (who, "changed access", f"key crm: {change}", "acme", None) for change in ("created with read", "revoked")
    ]
    async with stack.client("acme") as acme:
        assert who in (await acme.get("/dashboard/access")).text
