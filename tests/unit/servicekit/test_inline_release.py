"""Connections go back to their pool at once, or after a cleaning if somebody left something on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from servicekit.db.database import Database
from servicekit.db.inline_release_pool import connection_usage
from servicekit.db.pools import open_pool
from servicekit.stages import StageTimes, current_times
from tests.support.databases import schema_file


@pytest.fixture
async def pool(own_database: str, tmp_path: Path) -> AsyncIterator[Database]:
    """Yield a pool of one connection."""
    opened = await open_pool(own_database, "kit", schema_file(tmp_path), size=1)
    yield opened
    opened.terminate()


async def in_transaction(lent: Any) -> None:
    await lent.execute("begin")


async def in_forgotten_block(lent: Any) -> None:
    await lent.transaction().start()
    await lent.execute("commit")


async def while_cancelling(lent: Any) -> None:
    # If the timeout passed while the statement was prepared, there would be nothing to cancel.
    await lent.fetchval("select pg_sleep($1)", 0)
    with pytest.raises(TimeoutError):
        await lent.fetchval("select pg_sleep($1)", 60, timeout=0.02)
    assert lent._con._protocol._is_cancelling()


async def closed(lent: Any) -> None:
    await lent.close()


async def worn(lent: Any) -> None:
    lent._holder._max_queries = lent._con._protocol.queries_count


async def clean(lent: Any) -> None:
    await lent.fetchval("select 1")


def is_released_at_once(pool: Database, lent: Any) -> bool:
    """Start the release of a connection and return True if it ends without awaiting anything."""
    release = pool.release(lent)
    try:
        release.send(None)
    except StopIteration:
        return True
    release.close()
    return False


@pytest.mark.parametrize(
    ("left", "at_once"),
    [(clean, True), (in_transaction, False), (in_forgotten_block, False), (while_cancelling, False), (worn, False)],
)
async def test_only_a_clean_connection_is_released_at_once(
    pool: Database, left: Callable[[Any], Awaitable[None]], at_once: bool
) -> None:
    lent = await pool.acquire()
    await left(lent)
    assert is_released_at_once(pool, lent) is at_once


@pytest.mark.parametrize("left", [clean, in_transaction, in_forgotten_block, while_cancelling, closed, worn])
async def test_the_next_user_finds_nothing_of_the_one_before(
    pool: Database, left: Callable[[Any], Awaitable[None]]
) -> None:
    lent: Any = await pool.acquire()
    process = lent.get_server_pid()
    await left(lent)
    await pool.release(lent)
    async with pool.acquire(timeout=5) as again:
        connection: Any = again
        assert not connection._con._protocol._is_cancelling()
        assert not again.is_in_transaction()
        async with again.transaction():
            assert await again.fetchval("select 1") == 1
        assert not again.is_in_transaction()
        assert (again.get_server_pid() == process) is (left not in (closed, worn))


async def test_a_task_counts_the_connections_that_it_holds_or_waits_for(pool: Database) -> None:
    usage = connection_usage.get()
    before = usage.count
    lent = await pool.acquire()
    assert usage.count == before + 1
    waiting = asyncio.create_task(pool.fetchval("select 1"))
    await asyncio.sleep(0)
    assert usage.count == before + 2
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert usage.count == before + 1
    await pool.release(lent)
    await pool.release(lent)  # changes nothing
    assert usage.count == before
    await pool.execute("select 1")
    assert usage.count == before


async def test_the_time_that_a_batch_holds_a_connection_is_that_of_the_database(pool: Database) -> None:
    times = StageTimes()
    token = current_times.set(times)
    try:
        await pool.execute("select pg_sleep(0.02)")
    finally:
        current_times.reset(token)
    assert 0.02 <= times.seconds("database") < 5
    held = times.seconds("database")
    await pool.execute("select 1")
    assert times.seconds("database") == held
