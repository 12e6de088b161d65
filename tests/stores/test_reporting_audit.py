"""The audit over HTTP: random draws, the queue, and figures from their reviews alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import httpx
import pytest

from contracts.feedback import FeedbackCreated
from contracts.instants import DAY
from detector.intervals import wilson
from reporting.http.reviews import audit_router
from reporting.model.selection import Project, TimeSpan
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.reviews import sample
from reporting.reviews.sample import Draw, draw, pending, pending_count, samples
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Event, Take, feedback, message

NOW = FixedClock(START + 3_600_000_000)


AUDIT = "/conversations/acme/support/audit"


AT = Project("acme", "support")


@pytest.fixture
async def http(read_models: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with client([audit_router(read_models, NOW)]) as opened:
        yield opened


def turn(
    number: int, machine: str | None = None, *, response: str | None = "And now?", **place: Any
) -> Iterator[Event]:
    """Yield an answer, the response to it, and the machine's verdict on it."""
    at, conversation = 10.0 * number, place.pop("conversation", f"c{number}")
    where = {"conversation": conversation, **place}
    yield message(f"a{number}", agent="bot", turn=f"t{number}", at=at, **where)
    if response is not None:
        yield message(f"h{number}", turn=None, content=response, at=at + 1, **where)
    if machine is not None:
        yield feedback(f"m{number}", kind="inferred", reaction=machine, turn=f"t{number}", at=at + 2, **where)


def review(number: int, reaction: str | None, *, by: str = "rev", overrules: bool = False) -> Iterator[FeedbackCreated]:
    yield feedback(
        f"{by[0]}{number}", kind="explicit", origin="reviewer", source="review", user=by, reaction=reaction,
        turn=f"t{number}", conversation=f"c{number}", at=2_000 + number,
    )  # fmt: skip
    if overrules:
        yield feedback(
            f"m{number}", kind="inferred", reaction=None, revision=2, turn=f"t{number}", conversation=f"c{number}",
            at=10.0 * number + 2, overruled_by=feedback(f"r{number}").feedback_id, overruled_reaction="not_ok",
        )  # fmt: skip


def verdict(number: int, decided_by: str) -> Iterator[FeedbackCreated]:
    yield feedback(
        f"m{number}", kind="inferred", reaction="not_ok", turn=f"t{number}", conversation=f"c{number}",
        at=10.0 * number + 2, decided_by=decided_by, detector="1",
    )  # fmt: skip


async def drawn(pool: Database, count: int = 50, **wanted: Any) -> int:
    async with pool.acquire() as connection, connection.transaction():
        span = TimeSpan(START - 30 * DAY, NOW.now() + 1)
        return await draw(connection, AT, span, Draw(count=count, **wanted), NOW.now())


async def queue(pool: Database, after: int = 0, limit: int = 1_000) -> list[str]:
    return [review.turn_id for review in await pending(pool, AT, after, limit)]


async def test_half_of_the_drawn_answers_have_a_rejection_and_none_is_drawn_twice(
    read_models: Database, take: Take
) -> None:
    await take(*[event for n in range(40) for event in turn(n, "not_ok" if n < 10 else "ok" if n < 16 else None)])
    assert (await drawn(read_models, 12), await pending_count(read_models, AT)) == (12, 12)
    assert Counter(int(name[1:]) < 10 for name in await queue(read_models)) == {True: 6, False: 6}
    assert await drawn(read_models, 1_000) == 28
    assert sorted(await queue(read_models)) == sorted(f"t{n}" for n in range(40))
    assert await drawn(read_models, 1_000) == 0


async def test_an_assigned_answer_waits_for_its_reviewer(take: Take, read_models: Database) -> None:
    await take(*[event for n in range(4) for event in turn(n, "not_ok" if n % 2 else None)])
    assert await drawn(read_models, 2, assignee="tom") == 2
    assert {review.assignee for review in await pending(read_models, AT, 0, 10)} == {"tom"}
    assert [await pending_count(read_models, AT, name) for name in ("tom", "rev", None)] == [2, 0, 2]
    [first, second] = [int(name[1:]) for name in await queue(read_models)]
    await take(*review(first, "ok"))
    assert [await pending_count(read_models, AT, name) for name in ("tom", "rev", None)] == [2, 0, 2]
    await take(*review(second, "ok", by="tom"))
    assert [one.turn_id for one in await pending(read_models, AT, 0, 10, "tom")] == [f"t{first}"]


async def test_second_reviews_show_the_agreement_of_reviewers(
    http: httpx.AsyncClient, read_models: Database, take: Take
) -> None:
    await take(*[event for n in range(4) for event in turn(n, "not_ok" if n % 2 else None)])
    await drawn(read_models, 4)
    await take(*review(0, "ok"), *review(1, "not_ok"), *review(2, "ok"))
    again: dict[str, Any] = {"count": 10, "assignee": "tom", "is_second": True}
    assert (await drawn(read_models, **again), await pending_count(read_models, AT)) == (3, 4)
    assert await drawn(read_models, **again) == 0, "drawn for tom already"
    assert await drawn(read_models, **again | {"assignee": "rev"}) == 0, "reviewed"
    assert (await http.get(AUDIT)).json()["agreement"]["turns"] == 0
    await take(*review(0, "ok", by="tom"), *review(1, "ok", by="tom"), *review(3, "ok", by="tom"))
    agreement = (await http.get(AUDIT)).json()["agreement"]
    assert (agreement["turns"], agreement["agreeing"]) == (2, 1)
    assert agreement["disagreements"] == [
        {"conversation_id": "c1", "turn_id": "t1", "reviews": ["rev: not_ok", "tom: ok"]}
    ]
    await take(feedback("t1", kind="explicit", origin="reviewer", source="review", user="tom", reaction=None,
                        revision=2, turn="t1", conversation="c1", at=2_001))  # fmt: skip
    assert (await http.get(AUDIT)).json()["agreement"]["disagreements"] == [], "a retracted review is no verdict"


async def test_answers_without_a_response_and_other_places_are_never_drawn(read_models: Database, take: Take) -> None:
    await take(
        *turn(1),
        *turn(2, response=None),
        *turn(3, response=""),
        *turn(4, "not_ok", tenant="globex"),
        *turn(5, project="sales"),
        *turn(-9_000_000),
    )
    await drawn(read_models, 1_000)
    assert await queue(read_models) == ["t1"]


async def test_the_audit_covers_the_newest_answers_of_the_window(
    http: httpx.AsyncClient, read_models: Database, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "MOST_ANSWERS", 3)
    await take(*[one for n in range(5) for one in turn(n, "not_ok" if n in {1, 2, 4} else None)])
    assert await drawn(read_models, 1_000) == 3
    assert sorted(await queue(read_models)) == ["t2", "t3", "t4"]
    figures = (await http.get(AUDIT)).json()
    assert (figures["precision"]["answers"], figures["missed"]["answers"]) == (2, 1)


async def test_a_verdict_counts_if_its_clock_is_late(read_models: asyncpg.Pool, take: Take) -> None:
    """Answer and verdict have times of different clocks."""
    await take(
        message("a1", agent="bot", turn="t1", at=-5),
        feedback("m1", kind="inferred", reaction="not_ok", turn="t1", at=-3_000),
    )
    window = TimeSpan(START - 10_000_000, START)
    counted = await samples(read_models, AT, window)
    assert (counted[True].answers, counted[False].answers) == (1, 0)


async def test_the_queue_goes_on_behind_a_position_and_drops_what_is_reviewed(
    read_models: Database, take: Take
) -> None:
    await take(*[one for n in range(4) for one in turn(n)])
    await drawn(read_models, 100)
    items = await pending(read_models, AT, 0, 10)
    order = [review.turn_id for review in items]
    assert await queue(read_models, after=items[1].position) == [*order[2:], *order[:2]]
    await take(*review(int(order[0][1:]), "neutral"))
    assert await queue(read_models) == order[1:]
    assert await queue(read_models, limit=1) == order[1:2]


async def test_only_reviews_of_drawn_answers_measure_the_machine(
    http: httpx.AsyncClient, take: Take, read_models: Database
) -> None:
    await take(*[one for n in range(30) for one in turn(n, "not_ok" if n < 10 else None)])
    await take(*review(0, "neutral", overrules=True), *review(11, "not_ok"))  # chosen by the reviewer
    figures = (await http.get(AUDIT)).json()
    assert (figures["precision"]["reviewed"], figures["missed"]["reviewed"]) == (0, 0)
    await drawn(read_models, 1_000)
    await read_models.execute("delete from audit_draws where turn_id in ('t0', 't11')")
    for n in range(1, 10):
        await take(*review(n, "not_ok" if n < 9 else "ok", overrules=True))
    await take(*[event for n in (10, *range(12, 22)) for event in review(n, "not_ok" if n == 10 else "neutral")])
    figures = (await http.get(AUDIT)).json()
    counts = [[figures[name][key] for key in ("answers", "reviewed", "rejected")] for name in ("precision", "missed")]
    assert (counts, figures["pending"]) == ([[10, 9, 8], [20, 11, 1]], 8)
    for name, rejected, reviewed in (("precision", 8, 9), ("missed", 1, 11)):
        bounds = wilson(rejected, reviewed)
        assert figures[name]["share"] == pytest.approx(rejected / reviewed)
        assert (figures[name]["low"], figures[name]["high"]) == pytest.approx((bounds.low, bounds.high))


async def test_a_form_draws_from_our_own_page_alone(read_models: Database, take: Take) -> None:
    await take(*turn(1))
    here, nobody = "/dashboard/accuracy?at=acme%2Fsupport", {"assignee": ""}
    async with client([pages_router(PageSources(read_models, read_models, NOW), read_models)]) as site:
        refused = await site.post(here, data=nobody, headers={"Origin": "https://evil.test"})
        assert refused.status_code == 403
        assert await queue(read_models) == []
        answer = await site.post(here, data=nobody, headers={"Origin": "http://reporting"})
        assert (answer.status_code, answer.headers["location"]) == (303, here)
        assert (await site.post(here, data={**nobody, "second": "1"})).status_code == 422, "needs a reviewer"
    assert await queue(read_models) == ["t1"]


# The number of verdicts that wait for a review, if there are few reviews among many verdicts.
