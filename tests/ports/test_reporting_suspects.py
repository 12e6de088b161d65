"""Suspect verdicts in PostgreSQL: marked by the rules in any order, left out of figures, and decided by reviewers."""

from __future__ import annotations

import random
from typing import Any, Final
from uuid import UUID

import asyncpg
import httpx
import pytest

from contracts.erasure import Person
from contracts.instants import DAY, SECOND
from reporting.api.conversations import conversations_router
from reporting.api.figures import figures_router
from reporting.api.suspects import suspects_router
from reporting.dashboard.routes import pages_router
from reporting.queries.selection import Project
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.rollups import Rollups
from reporting.suspects.decisions import decide
from reporting.suspects.job import SuspectJob
from servicekit.clock import FixedClock
from servicekit.db.database import Database
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback
from tests.support.suspect_recount import HONEST_BUT_BUSY, SPAM, Crowd, crowd, suspects

AT: Final = Project("acme", "support")
PROJECT: Final = "/conversations/acme/support"
NOW: Final = START + 2 * DAY


def job(pool: asyncpg.Pool, **settings: Any) -> SuspectJob:
    return SuspectJob(pool, **({"limit": 60, "burst": 20} | settings))


async def marked(pool: asyncpg.Pool) -> dict[UUID, str]:
    rows = await pool.fetch("select feedback_id, suspect from feedbacks where suspect is not null")
    return {row["feedback_id"]: row["suspect"] for row in rows}


def burst(user: str = "sam", count: int = 30, at: float = 0, name: str = "", **more: Any) -> list[Any]:
    """Return rejections of many conversations within seconds; `name` tells records of several bursts apart."""
    at -= START % (10 * SECOND) / SECOND  # starts with a window
    said = []
    for n in range(count):
        place: dict[str, Any] = {"user": user, "turn": f"{user}t{n}", "conversation": f"c{n % 9}"}
        said.append(feedback(f"{name}{user}{n}", **(place | {"reaction": "not_ok", "at": at + 0.2 * n} | more)))
    return said


@pytest.mark.parametrize(("seed", "people"), [(1, 2_000), (2, 200), pytest.param(3, 10_000, marks=pytest.mark.real)])
async def test_of_a_crowd_exactly_the_spammers_are_marked(
    read_models: Database, take: Take, seed: int, people: int
) -> None:
    said, spam = crowd(seed, people)
    choose = random.Random(seed)
    order = choose.sample(said, len(said))
    work = job(read_models)
    for start in range(0, len(order), 2_000):
        await take(*order[start : start + 2_000])
        if choose.random() < 0.4:
            await work.catch_up()
    await take(*order[:500])
    await work.catch_up()
    found = await marked(read_models)
    assert found == suspects(said)
    givers = {one.feedback_id: one.user_id for one in said}
    false_marks = {givers[one] for one in found if not givers[one].startswith(SPAM)}
    assert false_marks == set(), f"of {len({one.user_id for one in said})} people, {HONEST_BUT_BUSY} among them"
    caught = {name: sum(one in found for one in ids) / len(ids) for name, ids in spam.items()}
    assert min(caught.values()) > 0.9, caught
    assert await read_models.fetchval("select count(*) from suspect_changes") == 0
    await _satisfaction_is_that_of_the_honest(read_models, Crowd(said, spam))


async def _satisfaction_is_that_of_the_honest(pool: Database, crowded: Crowd) -> None:
    found = set(suspects(crowded.said))
    left = [one.reaction for one in crowded.said if one.feedback_id not in found]
    await pool.execute("update stale_hours set marked_at = marked_at - interval '1 hour'")
    await Rollups(pool, FixedClock(NOW)).catch_up()
    async with api(pool) as http:
        window = {"start": "2026-09-21T00:00:00Z", "end": "2026-09-24T00:00:00Z"}
        answer = (await http.get(f"{PROJECT}/feedback/summary", params=window)).json()
    assert answer["suspects"] == len(found)
    assert {name: answer["totals"][name] for name in ("ok", "not_ok", "neutral")} == {
        name: left.count(name) for name in ("ok", "not_ok", "neutral")
    }


def api(pool: asyncpg.Pool) -> httpx.AsyncClient:
    clock = FixedClock(NOW)
    return client(
        [
            conversations_router(pool, clock, None),
            figures_router(pool, clock),
            suspects_router(pool, clock),
            pages_router(pool, clock, None),
        ]
    )


async def test_any_order_and_batches_give_the_same_marks(read_models: asyncpg.Pool, take: Take) -> None:
    said = [*burst(), *burst("tom", 90, 50, kind="reaction"), *burst("una", 19)]
    expected = suspects(said)
    assert set(expected.values()) == {"burst"}
    for seed in range(5):
        await read_models.execute("truncate feedbacks, suspect_changes")
        order = random.Random(seed).sample(said, len(said))
        for start in range(0, len(order), seed * 7 + 5):
            await take(*order[start : start + seed * 7 + 5])
            await job(read_models).catch_up()
        assert await marked(read_models) == expected


async def test_verdicts_beyond_the_limit_of_a_minute_are_marked_by_their_own_time(
    read_models: asyncpg.Pool, take: Take
) -> None:
    minute = -(START % (60 * SECOND)) / SECOND
    mixed = [
        feedback(f"f{n}", user="fay", turn=f"t{n}", reaction="ok" if n % 2 else "not_ok", at=minute + 0.5 * n)
        for n in range(100)
    ]
    judged = [feedback(f"e{n}", user="eli", turn=f"t{n}", at=minute + 0.5 * n, kind="explicit") for n in range(100)]
    await take(*reversed(mixed), *judged)
    await job(read_models).catch_up()
    assert await marked(read_models) == {one.feedback_id: "rate" for one in mixed[60:]}, "HTTP has its own limit"
    retracted = feedback("f0", user="fay", turn="t0", reaction=None, revision=2, at=minute)
    await take(retracted)
    await job(read_models).catch_up()
    assert await marked(read_models) == {one.feedback_id: "rate" for one in mixed[61:]}


async def test_a_late_different_verdict_clears_a_burst(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*burst())
    await job(read_models).catch_up()
    assert len(await marked(read_models)) == 30
    await take(feedback("late", user="sam", turn="x", reaction="ok", at=120))
    await job(read_models).catch_up()
    assert await marked(read_models) == {}


async def test_a_later_verdict_leaves_the_marks_of_the_first_minute_looked_at(
    read_models: asyncpg.Pool, take: Take
) -> None:
    """A verdict leads to a look at six minutes on either side. The first of these begins with a verdict."""
    minute = -(START % (60 * SECOND)) / SECOND
    said = [feedback(f"f{n}", user="fay", turn=f"t{n}", at=minute + 0.5 * n, reaction="ok") for n in range(62)]
    work = job(read_models, burst=0)
    await take(*said)
    await work.catch_up()
    await take(feedback("late", user="fay", turn="late", at=minute + 6 * 60, reaction="ok"))
    await work.catch_up()
    assert await marked(read_models) == {one.feedback_id: "rate" for one in said[60:]}


async def test_shared_users_critics_machines_and_reviewers_are_never_marked(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*burst("kiosk"), *burst("critic", user_type="agent"), *burst("maya", kind="inferred"))
    await take(*burst("rita", kind="explicit", source="review", origin="reviewer"))
    await job(read_models, shared=["kiosk"]).catch_up()
    assert await marked(read_models) == {}
    await take(*burst("booth"))
    await job(read_models).catch_up()
    assert len(await marked(read_models)) == 30
    await job(read_models, shared=["booth"]).catch_up()
    assert await marked(read_models) == {}, "the settings of a later start apply"


async def test_another_projects_verdicts_under_the_same_id_mark_nothing(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*burst("sam", 12))
    await take(*(feedback(f"g{n}", user="sam", turn=f"g{n}", conversation=f"c{n}", reaction="not_ok",
                          at=n / 10, tenant="globex") for n in range(12)))  # fmt: skip
    await take(*(feedback(f"h{n}", user="sam", turn=f"h{n}", conversation=f"c{n}", reaction="not_ok",
                          at=n / 10, project="sales") for n in range(12)))  # fmt: skip
    await job(read_models).catch_up()
    assert await marked(read_models) == {}


async def test_a_decision_stands_against_the_rules(read_models: asyncpg.Pool, take: Take) -> None:
    said = burst()
    await take(*said)
    await job(read_models).catch_up()
    one, other = said[3].feedback_id, said[4].feedback_id
    of: dict[str, Any] = {"by": "rita", "now": NOW}
    assert await decide(read_models, AT, one, suspect=False, whole_person=False, **of) == 1
    assert (
        await decide(read_models, Project("globex", "support"), other, suspect=False, whole_person=True, **of) is None
    )
    assert set(await marked(read_models)) == {event.feedback_id for event in said} - {one}
    await take(*burst(count=40))
    await job(read_models).catch_up()
    assert len(await marked(read_models)) == 39
    assert await decide(read_models, AT, other, suspect=False, whole_person=True, **of) == 39
    await take(*burst("sam", 30, revision=2, at=0.05))
    await job(read_models).catch_up()
    assert await marked(read_models) == {}
    calm = feedback("calm", user="ann", turn="calm")
    await take(calm)
    assert await decide(read_models, AT, calm.feedback_id, suspect=True, whole_person=True, **of) == 1
    await job(read_models).catch_up()
    assert await marked(read_models) == {calm.feedback_id: "reviewer"}


async def test_suspects_are_listed_alone_and_decided_over_http(read_models: asyncpg.Pool, take: Take) -> None:
    said = burst(kind="explicit", text="Secret spam.")
    await take(*said, feedback("good", user="ann", turn="good"))
    await job(read_models).catch_up()
    async with api(read_models) as http:
        shown = (await http.post(f"{PROJECT}/feedback/search", json={})).json()["items"]
        assert [(one["user_id"], one["suspect"]) for one in shown] == [("ann", None)]
        for more in ({}, {"text": "secret"}):
            found = (await http.post(f"{PROJECT}/feedback/search", json={"suspect": True, **more})).json()["items"]
            assert {(one["user_id"], one["suspect"]) for one in found} == {("sam", "burst")}
            assert len(found) == 30
        own = await http.get(f"{PROJECT}/c0/turns/samt0/feedback", params={"user_id": "sam"})
        assert own.json()["reaction"] == "not_ok", "the person's own widget shows what they said"
        latest = (await http.post(f"{PROJECT}/c0/feedback/latest", json={})).json()
        assert {(one["reaction"], one["text"]) for one in latest["items"]} == {(None, None)}
        page = (await http.get("/dashboard/feedback?at=acme/support&suspect=true&period=all")).text
        assert "one of many equal verdicts within seconds. No figure includes it." in page and "Not spam" in page
        assert "Not spam" not in (await http.get("/dashboard/feedback?at=acme/support&period=all")).text
        overview = (await http.get("/?at=acme/support&period=all")).text
        assert "30 suspect verdicts" in overview
        path = f"{PROJECT}/feedback/{said[0].feedback_id}/suspicion"
        answer = await http.post(
            path, content="suspect=false", headers={"content-type": "application/x-www-form-urlencoded"}
        )
        assert (answer.status_code, answer.headers["location"][:19]) == (303, "/dashboard/feedback")
        foreign = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "cross-site"}
        assert (await http.post(path, content="suspect=false", headers=foreign)).status_code == 403
        answer = await http.post(path, json={"suspect": False, "whole_person": True})
        assert answer.json() == {"decided": 30}
        assert len((await http.post(f"{PROJECT}/feedback/search", json={"limit": 100})).json()["items"]) == 31
        assert (
            await http.post(f"{PROJECT}/feedback/{UUID(int=1)}/suspicion", json={"suspect": True})
        ).status_code == 404
        assert (await http.post(path, json={"suspect": "maybe"})).status_code == 422


async def test_a_superseded_verdict_stays_superseded_by_a_suspect_one(read_models: asyncpg.Pool, take: Take) -> None:
    said = burst()
    before = feedback("before", user="sam", turn="samt5", conversation="c5", reaction="ok", at=-900)
    await take(before, *said)
    await job(read_models).catch_up()
    counted = await read_models.fetch("select feedback_id from effective")
    assert counted == []


async def test_an_erasure_removes_the_persons_id(read_models: asyncpg.Pool, take: Take) -> None:
    said = burst("eve")
    await take(*said)
    await decide(read_models, AT, said[0].feedback_id, "rita", NOW, suspect=True, whole_person=False)
    await ReportingErasures(read_models).erase({Person("acme", "eve"): NOW})
    for table in ("suspect_changes", "suspect_decisions", "feedbacks"):
        rows = await read_models.fetch(f"select t::text as row from {table} t")
        assert not any("eve" in row["row"] for row in rows)


async def test_a_decision_about_a_person_is_about_one_project(read_models: asyncpg.Pool, take: Take) -> None:
    """The person has marked verdicts in two more projects, of which one is another tenant's."""
    said = burst()
    places: list[dict[str, Any]] = [{"tenant": "globex"}, {"project": "sales"}]
    elsewhere = [event for place in places for event in burst(name=str(place), **place)]
    await take(*said, *elsewhere)
    await job(read_models).catch_up()
    assert len(await marked(read_models)) == 90
    decided = await decide(read_models, AT, said[0].feedback_id, "rita", NOW, suspect=False, whole_person=True)
    assert decided == 30
    assert set(await marked(read_models)) == {event.feedback_id for event in elsewhere}
    await job(read_models).catch_up()
    assert set(await marked(read_models)) == {event.feedback_id for event in elsewhere}


async def test_marks_that_could_not_be_written_are_written_later(read_models: asyncpg.Pool, take: Take) -> None:
    said = burst()
    work = job(read_models)
    await work.catch_up()
    await take(*said)
    await read_models.execute("alter table suspect_decisions rename to away")
    with pytest.raises(asyncpg.UndefinedTableError):
        await work.catch_up()
    await read_models.execute("alter table away rename to suspect_decisions")
    assert await work.catch_up() == 30
    assert set(await marked(read_models)) == {event.feedback_id for event in said}


async def test_that_a_verdict_is_spam_is_decided_for_it_alone_and_the_last_decision_is_kept(
    read_models: asyncpg.Pool, take: Take
) -> None:
    said = burst()
    await take(*said)
    await job(read_models).catch_up()
    one = said[0].feedback_id
    for by, now, suspect in (("rita", NOW, False), ("rob", NOW + 1, True)):
        assert await decide(read_models, AT, one, by, now, suspect=suspect, whole_person=suspect) == 1
    rows = await read_models.fetch("select feedback_id, suspect, decided_by, decided_at from suspect_decisions")
    assert [tuple(row) for row in rows] == [(one, True, "rob", NOW + 1)]


async def test_a_reader_with_a_watermark_learns_of_marks_and_decisions(read_models: asyncpg.Pool, take: Take) -> None:
    """They change what counts, although no event arrives."""
    said = burst()
    await take(*said)
    watermark = ""
    async with api(read_models) as http:

        async def changed() -> dict[str, str | None]:
            nonlocal watermark
            asked = {"watermark": watermark} if watermark else {}
            answer = (await http.post(f"{PROJECT}/c0/feedback/latest", json=asked)).json()
            watermark = answer["watermark"]
            return {one["turn_id"]: one["reaction"] for one in answer["items"]}

        turns = {f"samt{n}" for n in range(0, 30, 9)}
        assert await changed() == dict.fromkeys(turns, "not_ok")
        assert await changed() == {}
        await job(read_models).catch_up()
        assert await changed() == dict.fromkeys(turns)
        await decide(read_models, AT, said[0].feedback_id, "rita", NOW, suspect=False, whole_person=False)
        assert await changed() == {"samt0": "not_ok"}
        await decide(read_models, AT, said[0].feedback_id, "rita", NOW, suspect=True, whole_person=False)
        assert await changed() == {"samt0": None}
