"""Connections that read for callers see one tenant's rows, whatever the statement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from reporting.parts import SCHEMA
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db import row_security
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from servicekit.errors import StartError
from tests.support.databases import new_database
from tests.support.reporting_events import batch, feedback, message

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
    tables = "create table kept (tenant text, n int)"
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
            await open_pool(url, "plain", "select", size=1, tenants_apart=True)
    finally:
        await owner.execute("drop owned by plain cascade; drop role plain")
        await owner.close()
