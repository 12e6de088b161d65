"""Meaning of ratings, and the bodies that the intake accepts and refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from pydantic import ValidationError

from agent_feedback_kit.sessions.record import SessionFeedbackRecord, format_time, opaque
from contracts.erasure import Erasure, Person
from contracts.feedback import FeedbackExplicitReceived
from feedback.parts import SCHEMA
from feedback.reward import reaction_of, value_of
from feedback.sessions_postgres import PostgresSessions
from feedback.submission import TurnJudgement
from feedback.submission_body import given
from feedback.turn_erasures import TurnErasures
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.errors import RequestRefused
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from tests.support.feedback_events import explicit

POINTS = "The scale must be a number of points from 2 to 100."


HOSTILE: list[Any] = [True, "4", 4.5, -1, 0, 101, 10**30, float("nan"), float("inf"), [4], {}]


def judged(body: dict[str, Any]) -> TurnJudgement:
    return given(json.dumps(body).encode()).judgement("ann")


@pytest.mark.parametrize(
    ("worst", "best", "meanings"),
    [
        (1, 2, [(1, "not_ok", -1), (2, "ok", 1)]),
        (1, 3, [(1, "not_ok", -1), (2, "neutral", 0), (3, "ok", 1)]),
        (1, 4, [(2, "not_ok", -1 / 3), (3, "ok", 1 / 3)]),
        (1, 5, [(1, "not_ok", -1), (2, "not_ok", -0.5), (3, "neutral", 0), (4, "ok", 0.5), (5, "ok", 1)]),
        (1, 10, [(4, "not_ok", -1 / 3), (5, "neutral", 0), (6, "neutral", 0), (7, "ok", 1 / 3)]),
        (6, 1, [(6, "not_ok", -1), (5, "not_ok", -0.6), (4, "neutral", 0), (3, "neutral", 0), (2, "ok", 0.6)]),
        (0, 8, [(3, "not_ok", -0.25), (4, "neutral", 0), (5, "ok", 0.25)]),
        (0, 1, [(0, "not_ok", -1), (1, "ok", 1)]),
    ],
)
def test_a_rating_means_its_position_on_the_scale(
    worst: int, best: int, meanings: list[tuple[int, str, float]]
) -> None:
    values = [(rating, value_of(rating, worst, best)) for rating, _, _ in meanings]
    assert [(rating, reaction_of(value), value) for rating, value in values] == meanings


@pytest.mark.parametrize(("rating", "worst", "best"), [(0, 1, 5), (6, 1, 5), (0, 6, 1), (7, 6, 1), (3, 3, 3)])
def test_a_rating_off_its_scale_means_nothing(rating: int, worst: int, best: int) -> None:
    with pytest.raises(ValueError, match="on its scale"):
        value_of(rating, worst, best)


def test_a_rating_of_the_answer_is_a_judgement() -> None:
    said = judged({"rating": 4, "scale": 5, "text": "Nearly.", "tags": ["incomplete"]})
    assert (said.reaction, said.rating, said.best_rating) == ("ok", 4, 5)
    assert (said.text, said.tags) == ("Nearly.", ("incomplete",))


@pytest.mark.parametrize("scale", [5, None])
def test_null_retracts(scale: int | None) -> None:
    said = judged({"rating": None, "scale": scale})
    assert (said.reaction, said.rating) == (None, None)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"rating": 6, "scale": 5}, "The rating must be a whole number from 1 to 5."),
        *(
            ({"rating": rating, "scale": 5}, "The rating must be a whole number from 1 to 100, or null.")
            for rating in HOSTILE
        ),
        *(
            ({"rating": 4, "scale": scale}, POINTS)
            for scale in (True, 1, 0, -5, 101, 10**30, 4.5, "Polite", "", "a:b", "x" * 33, float("nan"), [5])
        ),
        ({"rating": 4}, POINTS),
        ({"rating": 4, "scale": None}, POINTS),
        ({"scale": 5}, "A scale needs a rating."),
        ({"reaction": "ok", "scale": 5}, "A scale needs a rating."),
        ({"reaction": "ok", "rating": 4, "scale": 5}, "Send a reaction or a rating, not both."),
        ({"reaction": None, "rating": None}, "Send a reaction or a rating, not both."),
        ({}, "The reaction must be ok, not_ok, neutral or null."),
    ],
)
def test_a_refused_rating_gets_one_sentence(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        judged(body)
    assert (refused.value.status, str(refused.value)) == (400, sentence)


@pytest.mark.parametrize(
    "ends", [{"worstRating": 3, "bestRating": 5}, {"worstRating": 5, "bestRating": 3}, {"bestRating": 5}, {}]
)
def test_an_event_with_a_rating_off_its_scale_is_refused(ends: dict[str, int]) -> None:
    event = json.loads(explicit("ok").model_dump_json(by_alias=True))
    with pytest.raises(ValidationError, match="on the scale"):
        FeedbackExplicitReceived.from_wire(json.dumps({**event, "worstRating": None, **ends, "rating": 2}).encode())


# Session ratings and erasures are ordered by the database's clock, whatever the clock of the rating process.

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
