"""Token buckets in PostgreSQL: thousands of people, several processes, time, erasure."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from contracts.erasure import Person
from feedback.rate_limit import LimitReached, PersonLimit
from feedback.turn_erasures import TurnErasures
from servicekit.db.database import Database
from tests.support.databases import empty_schema

ANN, BOB = Person("acme", "ann"), Person("acme", "bob")


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Database]:
    async with empty_schema(postgres_url, "feedback") as pool:
        yield pool


async def taken(limit: PersonLimit, person: Person, times: int) -> int:
    """Return the number of accepted judgements of `times` attempts."""
    accepted = 0
    for _ in range(times):
        try:
            await limit.take(person)
            accepted += 1
        except LimitReached:
            pass
    return accepted


async def later(pool: Database, seconds: float) -> None:
    """Let time pass for the buckets."""
    await pool.execute("update buckets set full_at = full_at - make_interval(secs => $1)", float(seconds))


@pytest.mark.parametrize("people", [1_000, pytest.param(10_000, marks=pytest.mark.real)])
async def test_of_many_people_those_above_the_limit_are_refused_and_nobody_else(pool: Database, people: int) -> None:
    """With a limit of one judgement a minute no token flows in during the test."""
    choose = random.Random(1)
    attempts = {Person(choose.choice(["acme", "globex"]), f"p{n}"): choose.choice([1, 1, 1, 2]) for n in range(people)}
    limit = PersonLimit(pool, 1)
    waiting = list(attempts)
    accepted: dict[Person, int] = {}

    async def work() -> None:
        while waiting:
            person = waiting.pop()
            accepted[person] = await taken(limit, person, attempts[person])

    async with asyncio.timeout(55):
        await asyncio.gather(*(work() for _ in range(8)))
    assert set(accepted.values()) == {1}
    assert people / 5 < sum(one > 1 for one in attempts.values()) < people / 3.3
    assert await pool.fetchval("select count(*) from buckets") == people
    await later(pool, 60)
    await limit.purge()
    assert await pool.fetchval("select count(*) from buckets") == 0, "full buckets need no row"


async def test_a_bucket_holds_the_limit_and_fills_within_a_minute(pool: Database) -> None:
    limit = PersonLimit(pool, 60)
    assert await taken(limit, ANN, 60) == 60
    assert await taken(PersonLimit(pool, 60), BOB, 5) == 5
    await pool.execute("update buckets set full_at = clock_timestamp() + interval '60 seconds' where user_id = 'ann'")
    with pytest.raises(LimitReached) as caught:
        await limit.take(ANN)
    assert str(caught.value) == "A person may send 60 judgements a minute; try again in 1 s."
    await later(pool, 30)
    assert 30 <= await taken(limit, ANN, 40) <= 39
    await later(pool, 3600)
    assert 60 <= await taken(limit, ANN, 75) <= 74, "an idle person has one bucket, not one per minute"


async def test_the_wait_is_that_of_one_token(pool: Database) -> None:
    limit = PersonLimit(pool, 2)
    assert await taken(limit, ANN, 2) == 2
    with pytest.raises(LimitReached) as caught:
        await limit.take(ANN)
    assert 20 < caught.value.seconds <= 30
    await later(pool, caught.value.seconds)
    assert await taken(limit, ANN, 2) == 1


async def test_processes_share_a_bucket(pool: Database) -> None:
    each = await asyncio.gather(*(taken(PersonLimit(pool, 10), ANN, 5) for _ in range(8)))
    assert sum(each) == 10


async def test_zero_is_no_limit(pool: Database) -> None:
    assert await taken(PersonLimit(pool, 0), ANN, 5) == 5
    assert await pool.fetchval("select count(*) from buckets") == 0


async def test_an_erasure_deletes_the_persons_bucket_in_its_tenant(pool: Database) -> None:
    limit = PersonLimit(pool, 60)
    for person in (ANN, BOB, Person("globex", "ann")):
        await limit.take(person)
    await TurnErasures(pool, lambda person: person.user_id).erase({ANN: 1})
    left = await pool.fetch("select tenant, user_id from buckets order by 1")
    assert [tuple(row) for row in left] == [("acme", "bob"), ("globex", "ann")]
