"""Session ratings and erasures are ordered by the database's clock, whatever the clock of the rating process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from agent_feedback_kit.sessions.record import SessionFeedbackRecord, format_time, opaque
from contracts.erasure import Erasure, Person
from feedback.sessions_postgres import PostgresSessions
from feedback.store_choice import SCHEMA
from feedback.turn_erasures import TurnErasures
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.pseudonyms import ErasureSettings, Pseudonyms

EVE = Person("acme", "eve")
WAITING = """
select count(*) from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())
"""
AHEAD, BEHIND = timedelta(hours=1), timedelta(hours=-1)


@pytest_asyncio.fixture(loop_scope="session")
async def pool(own_database: str) -> AsyncIterator[Database]:
    pool = await open_pool(own_database, "feedback", SCHEMA, size=4)
    yield pool
    await pool.close()


@pytest.fixture
def erasures(pool: Database) -> TurnErasures:
    return TurnErasures(pool, Pseudonyms(ErasureSettings()))


async def rate(pool: Database, thread: str, off: timedelta, person: Person = EVE) -> None:
    """Store a rating of a process whose clock is wrong."""
    at = format_time(datetime.now(UTC) + off)
    record = SessionFeedbackRecord(opaque(thread), "positive", 1, "api_end", person.user_id, thread, recorded_at=at)
    await PostgresSessions(pool).arecord(record, tenant=person.tenant)


async def erase(erasures: TurnErasures, erasure: Erasure) -> None:
    await erasures.ledger.note([erasure])
    await erasures.erase(await erasures.ledger.erased_at([EVE]))


async def names(pool: Database) -> list[tuple[str | None, str | None]]:
    """Return names and keys of all ratings in the order of storage."""
    rows = await pool.fetch("select user_id_or_null, idempotency_key from session_feedback order by stored_at")
    return [tuple(row) for row in rows]


async def test_a_rating_before_the_erasure_loses_its_name_and_a_later_one_keeps_it(
    pool: Database, erasures: TurnErasures
) -> None:
    await rate(pool, "t1", AHEAD)
    await rate(pool, "t2", AHEAD, Person("acme", "bob"))
    await rate(pool, "t3", AHEAD, Person("globex", "eve"))
    first = Erasure(EVE, "r-1", SystemClock().now())
    await erase(erasures, first)
    await rate(pool, "t4", BEHIND)
    others = [("bob", "t2"), ("eve", "t3")]
    assert await names(pool) == [(None, None), *others, ("eve", "t4")]
    await erase(erasures, first)  # delivered again
    assert await names(pool) == [(None, None), *others, ("eve", "t4")]
    await erase(erasures, Erasure(EVE, "r-2", SystemClock().now()))
    assert await names(pool) == [(None, None), *others, (None, None)]


async def test_a_rating_that_is_being_stored_during_the_erasure_loses_its_name(
    pool: Database, erasures: TurnErasures
) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        one: Any = connection
        await rate(one, "t1", AHEAD)
        erasing = asyncio.create_task(erase(erasures, Erasure(EVE, "r-1", SystemClock().now())))
        while not await pool.fetchval(WAITING):
            assert not erasing.done(), "the erasure did not wait for the rating"
            await asyncio.sleep(0)
        await transaction.commit()
    await erasing
    assert await names(pool) == [(None, None)]


@pytest.mark.parametrize(("later", "left"), [("0 microseconds", (None, None)), ("1 microsecond", ("eve", "t1"))])
async def test_a_rating_at_the_moment_of_the_erasure_is_covered(
    pool: Database, erasures: TurnErasures, later: str, left: tuple[str | None, str | None]
) -> None:
    await rate(pool, "t1", AHEAD)
    await erasures.ledger.note([Erasure(EVE, "r-1", SystemClock().now())])
    await pool.execute(f"update session_feedback set stored_at = e.noted_at + interval '{later}' from erasures e")
    await erasures.erase(await erasures.ledger.erased_at([EVE]))
    assert await names(pool) == [left]


async def test_ratings_are_announced_oldest_first_and_once(pool: Database) -> None:
    ratings = PostgresSessions(pool)
    for hours, thread in ((3, "t1"), (1, "t2"), (2, "t3")):
        await rate(pool, thread, timedelta(hours=hours))
        await rate(pool, thread, timedelta(hours=hours + 3), Person("globex", "eve"))
    waiting = await ratings.unannounced(4)
    assert [(one.tenant, one.record.idempotency_key) for one in waiting] == [
        ("acme", "t2"),
        ("acme", "t3"),
        ("acme", "t1"),
        ("globex", "t2"),
    ]
    await ratings.mark(waiting)
    left = await ratings.unannounced(4)
    assert [(one.tenant, one.record.idempotency_key) for one in left] == [("globex", "t3"), ("globex", "t1")]
