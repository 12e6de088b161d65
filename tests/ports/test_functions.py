"""Functions of statement files in PostgreSQL: created at the first call, kept for the previous release."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from servicekit.db.database import Database
from servicekit.db.functions import KEPT
from servicekit.db.pools import open_pool
from servicekit.db.statements import Statement, Statements
from tests.support.databases import new_database, schema_file

NAMES = "select proname from pg_proc where pronamespace = 'functions'::regnamespace order by oid"


@pytest.fixture
async def pool(postgres_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("drop schema if exists functions cascade")
    await connection.close()
    pool = await open_pool(postgres_url, "functions", schema_file(tmp_path, "create table numbers (n int)"))
    yield pool
    await pool.close()


def adding(folder: Path, more: int) -> Statement:
    (folder / "any.sql").write_text(
        "-- function: add_numbers returns setof int\n"
        "begin\n"
        "    insert into numbers select * from unnest(:n::int[]);\n"
        f"    return query select n + {more} from numbers;\n"
        "end\n"
    )
    return Statements(folder).add_numbers


async def added(pool: Database, function: Statement, *numbers: int) -> list[int]:
    return sorted(row[0] for row in await Database.call(pool, function, [(n,) for n in numbers]))


async def test_a_statement_of_a_function_sees_those_before_it(pool: Database, tmp_path: Path) -> None:
    function = adding(tmp_path, 10)
    assert await added(pool, function, 1, 2) == [11, 12]
    assert await added(pool, function, 3) == [11, 12, 13]


async def test_statements_have_snapshots_of_their_own_whatever_the_database_sets(
    postgres_url: str, tmp_path: Path
) -> None:
    async with new_database(postgres_url) as url:
        connection = await asyncpg.connect(url)
        name = await connection.fetchval("select current_database()")
        await connection.execute(f"alter database {name} set default_transaction_isolation = 'repeatable read'")
        await connection.close()
        async with await open_pool(url, "functions", schema_file(tmp_path)) as pool:
            assert await pool.fetchval("show transaction_isolation") == "read committed"


async def test_a_function_that_fails_writes_nothing(pool: Database, tmp_path: Path) -> None:
    function = adding(tmp_path, 2**31 - 1)
    with pytest.raises(asyncpg.NumericValueOutOfRangeError):
        await added(pool, function, 1)
    assert await pool.fetchval("select count(*) from numbers") == 0


async def test_calls_that_find_no_function_create_it_once(pool: Database, tmp_path: Path) -> None:
    function = adding(tmp_path, 0)
    await asyncio.gather(*(added(pool, function, 1) for _ in range(8)))
    assert [row[0] for row in await pool.fetch(NAMES)] == [function.called]
    assert await pool.fetchval("select count(*) from numbers") == 8


async def test_releases_call_their_own_functions_and_a_dropped_one_is_created_again(
    pool: Database, tmp_path: Path
) -> None:
    releases = [adding(tmp_path, 100 * number) for number in range(KEPT + 1)]
    for function in releases:
        await added(pool, function)
    assert [row[0] for row in await pool.fetch(NAMES)] == [one.called for one in releases[1:]]
    assert await added(pool, releases[0], 1) == [1]
    assert await added(pool, releases[-1]) == [1 + 100 * KEPT]
