"""What a pool of connections does between two statements."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from servicekit.database import open_pool

SAID = "select query, state from pg_stat_activity where application_name = 'agent-feedback nothing'"


async def test_a_connection_comes_back_without_another_round_trip(postgres_url: str, tmp_path: Path) -> None:
    pool = await open_pool(postgres_url, "nothing", tmp_path, size=1)
    watcher = await asyncpg.connect(postgres_url)
    await pool.execute("select 'the last word'")
    assert [tuple(row) for row in await watcher.fetch(SAID)] == [("select 'the last word'", "idle")]
    await watcher.close()
    await pool.close()


async def test_a_transaction_left_open_is_ended(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "0001_table.sql").write_text("create table kept (n int)")
    pool = await open_pool(postgres_url, "nothing", tmp_path, size=1)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with pool.acquire() as connection:
            await connection.execute("begin; insert into kept values (1)")
            await connection.execute("select 1 / 0")
    assert await pool.fetchval("select count(*) from kept") == 0
    await pool.close()


async def test_every_connection_is_prepared_once_the_tables_are_there(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "0001_table.sql").write_text("create table kept (n int)")
    found = []

    async def look(connection: asyncpg.Connection) -> None:
        found.append(await connection.fetchval("select count(*) from kept"))

    pool = await open_pool(postgres_url, "prepared", tmp_path, size=2, init=look)
    async with pool.acquire(), pool.acquire():
        assert found == [0, 0]
    await pool.close()
