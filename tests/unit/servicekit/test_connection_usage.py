"""Connections are counted for the task that uses them, and their time for its batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from servicekit.db.connection_usage import connection_usage
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.stages import StageTimes, current_times
from tests.support.databases import schema_file


@pytest.fixture
async def pool(own_database: str, tmp_path: Path) -> AsyncIterator[Database]:
    """Yield a pool of one connection."""
    opened = await open_pool(own_database, "kit", schema_file(tmp_path), size=1)
    yield opened
    opened.terminate()


async def test_a_task_counts_the_connections_that_it_holds_or_waits_for(pool: Database) -> None:
    usage = connection_usage.get()
    before = usage.count
    async with pool.acquire():
        assert usage.count == before + 1
        waiting = asyncio.create_task(pool.fetchval("select 1"))
        await asyncio.sleep(0)
        assert usage.count == before + 2
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert usage.count == before + 1
    assert usage.count == before
    await pool.execute("select 1")
    assert usage.count == before


async def test_a_connection_that_the_server_ends_is_no_longer_counted(pool: Database) -> None:
    usage = connection_usage.get()
    before = usage.count
    with pytest.raises(Exception, match="terminating connection"):
        await pool.execute("select pg_terminate_backend(pg_backend_pid())")
    assert usage.count == before
    assert await pool.fetchval("select 1") == 1


async def test_the_wait_for_a_connection_is_measured(pool: Database) -> None:
    def waits() -> float:
        return REGISTRY.get_sample_value("agent_feedback_pool_wait_seconds_count", {"pool": "kit"}) or 0.0

    before = waits()
    await pool.fetch("select 1")
    await pool.fetchrow("select 1")
    assert waits() == before + 2


async def test_the_time_that_a_batch_holds_a_connection_is_that_of_the_database(pool: Database) -> None:
    times = StageTimes()
    token = current_times.set(times)
    try:
        await pool.execute("select pg_sleep(0.02)")
    finally:
        current_times.reset(token)
    assert 0.02 <= times.seconds("database") < 5
    measured = times.seconds("database")
    await pool.execute("select 1")
    assert times.seconds("database") == measured
