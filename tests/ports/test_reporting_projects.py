"""The list of projects, which every page reads."""

from __future__ import annotations

import json

import asyncpg
import pytest

from reporting.model.selection import Project
from reporting.parts import SCHEMA
from reporting.read_models.projects import projects
from reporting.sql import SQL
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from tests.support.databases import new_database
from tests.support.reporting_events import Take, feedback, message

EVENTS = (
    message("m1", tenant="acme", project="a"), feedback("f1", tenant="acme", project="b", recorded=2),
    message("m2", tenant="acme", project="c"), feedback("f2", tenant="globex", project="a", recorded=1),
    message("m3", tenant="globex", project="b"), feedback("f3", tenant="acme", project="a", recorded=3),
)  # fmt: skip
_MANY = """
insert into messages (tenant, project, conversation_id, message_id, sender_type, sender_id, content, occurred_at,
    sequence, version)
select 'acme', 'big', 'c' || i, 'm' || i, 'human', 'ann', 'Hello', i, -1, '\\x00' from generate_series(1, 20000) i
"""


@pytest.mark.parametrize(
    ("tenant", "names", "found"),
    [
        (None, None, {"acme/a", "acme/b", "acme/c", "globex/a", "globex/b"}),
        ("acme", None, {"acme/a", "acme/b", "acme/c"}),
        ("acme", ["b", "x"], {"acme/b"}),
        ("globex", None, {"globex/a", "globex/b"}),
        ("other", None, set()),
    ],
)
async def test_projects_have_messages_or_feedback(
    read_models: asyncpg.Pool, take: Take, tenant: str | None, names: list[str] | None, found: set[str]
) -> None:
    for event in EVENTS:
        await take(event)
    listed = await projects(read_models, tenant, names)
    assert len(listed) == len(found)
    assert {f"{one.tenant}/{one.project}" for one in listed} == found


@pytest.mark.parametrize("tenant", ["acme", EVERY_TENANT])
async def test_listing_reads_two_entries_of_each_project_not_all(postgres_url: str, tenant: str) -> None:
    async with (
        new_database(postgres_url, "reporting") as url,
        await open_pool(url, "reporting", SCHEMA, tenants_apart=True, plan="custom") as reads,
        await open_pool(url, "reporting", SCHEMA) as pool,
    ):
        await pool.execute(_MANY)
        await pool.execute("vacuum analyze messages")
        token = tenant_in_sight.set(tenant)
        try:
            assert await projects(reads) == [Project("acme", "big")]
            statement, *values = SQL.list_projects(tenant=None, projects=None, limit=500)
            explained = await reads.fetchval(f"explain (analyze, buffers, format json) {statement}", *values)
        finally:
            tenant_in_sight.reset(token)
    plan = json.loads(explained)[0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 60
