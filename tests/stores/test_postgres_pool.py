"""Behaviour of the connection pool between two statements."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from servicekit.db.pools import Plan, open_pool, wait_for_database
from servicekit.errors import StartError
from standalone.operations.service_databases import migrate_all
from tests.support.databases import SCHEMAS, new_database

SAID = "select query, state from pg_stat_activity where application_name = 'agent-feedback nothing'"


async def test_a_connection_comes_back_without_another_round_trip(postgres_url: str, tmp_path: Path) -> None:
    pool = await open_pool(postgres_url, "nothing", "select", size=1)
    watcher = await asyncpg.connect(postgres_url)
    await pool.execute("select 'the last word'")
    assert [tuple(row) for row in await watcher.fetch(SAID)] == [("select 'the last word'", "idle")]
    await watcher.close()
    await pool.close()


async def test_a_connection_that_cannot_be_lent_again_is_not(postgres_url: str, tmp_path: Path) -> None:
    pool = await open_pool(postgres_url, "nothing", "select", size=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pool.execute("select pg_sleep(30)"), 0.2)
    assert await pool.fetchval("select 1") == 1, "what was cut off has ended before the next borrower comes"
    async with pool.acquire() as connection:
        ended = await connection.fetchval("select pg_backend_pid()")
        with pytest.raises(asyncpg.PostgresConnectionError):
            await connection.execute("select pg_terminate_backend(pg_backend_pid())")
    assert await pool.fetchval("select pg_backend_pid()") != ended
    async with pool.acquire() as connection:
        old = await connection.fetchval("select pg_backend_pid()")
        await pool.expire_connections()
    assert await pool.fetchval("select pg_backend_pid()") != old
    await pool.close()


async def test_a_database_may_end_a_connection_once_it_has_answered(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = asyncpg.connect

    async def end(pid: int) -> None:
        other = await connect(postgres_url)
        await other.execute("select pg_terminate_backend($1, 10000)", pid)
        await other.close()

    async def connect_and_lose(*options: Any, **settings: Any) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*options, **settings)
        # Blocks this loop, so that asyncpg does not notice the end.
        thread = threading.Thread(target=asyncio.run, args=(end(connection.get_server_pid()),))
        thread.start()
        thread.join()
        return connection

    monkeypatch.setattr(asyncpg, "connect", connect_and_lose)
    await wait_for_database(postgres_url, print)


@pytest.mark.parametrize("left", ["begin", "begin; insert into kept values (1)", "begin; select 1 / 0"])
async def test_whatever_a_borrower_leaves_the_next_one_begins_anew(
    postgres_url: str, tmp_path: Path, left: str
) -> None:
    file = "create table kept (n int)"
    pool = await open_pool(postgres_url, "left_open", file, size=1)
    async with pool.acquire() as connection:
        with contextlib.suppress(asyncpg.DivisionByZeroError):
            await connection.execute(left)
    async with pool.acquire() as connection:
        assert not connection.is_in_transaction()
        await connection.execute("insert into kept values (2)")
    async with pool.acquire() as connection:
        await connection.transaction().start()
    assert await pool.fetchval("select min(n) from kept") == 2
    async with pool.acquire() as connection, connection.transaction():
        assert await connection.fetchval("select count(*) from kept where n = 1") == 0
    await pool.execute("truncate kept")
    await pool.close()


async def test_every_connection_is_prepared_once_the_tables_are_there(postgres_url: str, tmp_path: Path) -> None:
    file = "create table kept (n int)"
    found = []

    async def look(connection: asyncpg.Connection) -> None:
        found.append(await connection.fetchval("select count(*) from kept"))

    pool = await open_pool(postgres_url, "prepared", file, size=2, init=look)
    async with pool.acquire(), pool.acquire():
        assert found == [0, 0]
    await pool.close()


async def test_the_creation_of_the_tables_may_take_longer_than_a_statement(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servicekit.db.pools.COMMAND_SECONDS", 0.2)
    file = "select pg_sleep(0.5); create table kept (n int)"
    limited = await asyncpg.connect(postgres_url)
    await limited.execute("alter role current_user set statement_timeout = '300ms'")
    try:
        pool = await open_pool(postgres_url, "slow", file, size=1)
        with pytest.raises((TimeoutError, asyncpg.QueryCanceledError)):
            await pool.execute("select pg_sleep(1)")
        await pool.close()
    finally:
        await limited.execute("alter role current_user reset statement_timeout")
        await limited.close()


@pytest.mark.parametrize(("plan", "counts"), [("custom", (10, 0)), ("once", (0, 10)), ("automatic", (5, 5))])
async def test_a_statement_is_planned_for_what_it_is_asked_each_time(
    postgres_url: str, tmp_path: Path, plan: Plan, counts: tuple[int, int]
) -> None:
    pool = await open_pool(postgres_url, "planned", "select", size=1, plan=plan)
    for _ in range(10):
        await pool.fetchval("select $1::int + 1", 1)
    counted = await pool.fetchrow("select * from pg_prepared_statements where statement like '%$1::int + 1'")
    assert counted is not None
    assert (counted["custom_plans"], counted["generic_plans"]) == counts
    await pool.close()


# The command `migrate`: creates every service's tables in an empty database, and refuses those of another version.

REFUSED = "The tables of inference were created by another version of this program, which cannot be upgraded: export "


def unheard(_: str) -> None:
    pass


async def test_migrate_creates_the_schema_that_is_missing(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    await connection.execute("drop schema chat_bridge cascade")
    await connection.close()
    assert await migrate_all(own_database, say=unheard) == {name: name == "chat_bridge" for name in SCHEMAS}


async def test_migrate_restricts_readers_to_their_tenant(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    secured = await connection.fetch("select distinct schemaname from pg_policies order by 1")
    await connection.close()
    assert [row[0] for row in secured] == ["feedback", "inference", "reporting"]


@pytest.mark.parametrize(
    "change",
    [
        "update schema_version set version = 'another'",
        "delete from schema_version",
        "drop table schema_version",
    ],
)
async def test_tables_of_another_version_are_refused_and_left_alone(own_database: str, change: str) -> None:
    await (await open_pool(own_database, "inference", SCHEMAS["inference"], size=1)).close()
    connection = await asyncpg.connect(own_database, server_settings={"search_path": "inference"})
    tables = "select array_agg(relname order by oid) from pg_class where relnamespace = 'inference'::regnamespace"
    try:
        await connection.execute(change)
        before = await connection.fetchval(tables)
        with pytest.raises(StartError, match=REFUSED):
            await open_pool(own_database, "inference", SCHEMAS["inference"], size=1)
        assert await connection.fetchval(tables) == before
    finally:
        await connection.close()


# Functions of statement files in PostgreSQL, which are created with the tables.


async def test_statements_have_snapshots_of_their_own_whatever_the_database_sets(
    postgres_url: str, tmp_path: Path
) -> None:
    async with new_database(postgres_url) as url:
        connection = await asyncpg.connect(url)
        name = await connection.fetchval("select current_database()")
        await connection.execute(f"alter database {name} set default_transaction_isolation = 'repeatable read'")
        await connection.close()
        async with await open_pool(url, "functions", "select") as pool:
            assert await pool.fetchval("show transaction_isolation") == "read committed"
