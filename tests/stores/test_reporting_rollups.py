"""Figures that read roll-ups equal a recount in plain SQL, after any changes and erasures, whenever hours are
counted."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import asyncpg
import pytest

from contracts.erasure import Person
from contracts.feedback import FeedbackErased
from contracts.instants import DAY
from reporting.figures.calibration import calibration
from reporting.figures.ranking import ranking
from reporting.figures.reasons import reasons
from reporting.figures.satisfaction import summary
from reporting.figures.votes import Votes
from reporting.model.selection import ALWAYS, HOUR, Bucket, Filters, Project, TimeSpan
from reporting.pages.breakdown import Version, breakdown
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups, _SnapshotMark
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.hand_clock import HandClock
from tests.support.reporting_events import START, batch, feedback, feedback_id

AT = Project("acme", "support")
LENGTH = 40 * DAY
REACTIONS = ("ok", "neutral", "not_ok")
FILTERS = (
    Filters(),
    Filters(agent_id="a1"),
    Filters(agent_version="2", origins=("user",)),
    Filters(model="m1"),
    Filters(origins=("machine",)),
    Filters(origins=("machine", "reviewer")),
    Filters(reaction="ok"),
    Filters(feedback_type="verdict"),
)
RECOUNT = """
select * from effective where tenant = 'acme' and project = 'support' and occurred_at >= $1 and occurred_at < $2
"""
VERDICTS = """
select conversation_id, turn_id, agent_id, agent_version, model, origin, confidence,
       coalesce(reaction, overruled_reaction) as reaction
from feedbacks
where tenant = 'acme' and project = 'support' and occurred_at >= $1 and occurred_at < $2 and origin = 'machine'
  and coalesce(reaction, overruled_reaction) is not null
"""


def announced(choose: random.Random, revision: int) -> Any:
    machine = choose.random() < 0.5
    kind = "inferred" if machine else choose.choice(["reaction", "explicit", "explicit"])
    review = kind == "explicit" and choose.random() < 0.3
    overruled = machine and choose.random() < 0.3
    return feedback(
        f"{'r' if review else kind[0]}{choose.randrange(60)}",
        revision=revision,
        tenant=choose.choice(["acme", "acme", "acme", "globex"]),
        turn=f"t{choose.randrange(6)}",
        user=f"u{choose.randrange(3)}",
        agent=f"a{choose.randrange(3)}",
        kind=kind,
        source="review" if review else "chat",
        origin="reviewer" if review else "machine" if machine else "user",
        reaction=None if overruled else choose.choice(["ok", "not_ok", "neutral", None]),
        overruled_reaction=choose.choice(["ok", "not_ok"]) if overruled else None,
        agent_version=choose.choice([None, "1", "2"]),
        model=choose.choice([None, "m1"]),
        tags=tuple(choose.choices(["wrong", "slow"], k=choose.randrange(3))),
        correction_type=choose.choice([None, "explicit", "rephrased"]) if machine else None,
        confidence=choose.choice([0.7, 0.75, 0.85, 1.0]) if machine else 1.0,
        at=choose.randrange(LENGTH // 1_000_000),
    )


async def happens(read_models: Database, choose: random.Random, revision: int) -> None:
    """Generate a change that affects counts, or a run of the counting."""
    store = PostgresReadModels(read_models)
    match choose.randrange(8):
        case 0:
            await Rollups(read_models, SystemClock()).catch_up(quiet=0)
        case 1:
            await store.apply(forgotten=[FeedbackErased(feedback_id(f"e{choose.randrange(60)}"), revision)])
        case 2:
            person = Person("acme", f"u{choose.randrange(3)}")
            await ReportingErasures(read_models).erase({person: START + choose.randrange(LENGTH // 8)})
        case 3:
            await read_models.execute(
                "delete from feedbacks where occurred_at < $1", START + choose.randrange(LENGTH // 8)
            )
        case _:
            events = [announced(choose, revision + n) for n in range(choose.randrange(1, 40))]
            await ProjectionHandler(store).handle(batch(*events))


def counted(rows: list[Any], *names: str) -> dict[Any, Votes]:
    sums = Counter((tuple(row[name] for name in names), row["reaction"]) for row in rows)
    return {key: Votes(*(sums[key, one] for one in REACTIONS)) for key, _ in sums}


def matches(row: Any, filters: Filters) -> bool:
    asked = ("agent_id", "agent_version", "model", "reaction")
    return all(getattr(filters, name) in (None, row[name]) for name in asked) and (
        filters.origins is None or row["origin"] in filters.origins
    )


async def check(read_models: Database, span: TimeSpan, filters: Filters, starts: list[int]) -> None:
    """Check every number of the figures that read roll-ups."""
    recount = await read_models.fetch(RECOUNT, *span)
    rows = [dict(row) for row in recount if matches(row, filters)]
    for row in rows:
        row["step"] = max(0, sum(start <= row["occurred_at"] for start in starts) - 1)
        row["version"] = Version(row["agent_id"], row["agent_version"])
    found = await breakdown(read_models, AT, span, filters, starts)
    assert {(key,): v for key, v in found.whole.items() if v.total} == counted(rows, "origin")
    assert dict(found.steps) == (counted(rows, "origin", "step") if starts else {})
    assert dict(found.agents) == counted(rows, "origin", "agent_id")
    assert dict(found.versions) == counted(rows, "origin", "version")
    without = await breakdown(read_models, AT, span, filters)
    assert (without.whole, without.agents, without.versions) == (found.whole, found.agents, found.versions)
    assert (without.steps, without.sparks) == ({}, {})
    sparks: dict[Any, Votes] = {}
    for (origin, agent, _), votes in found.sparks.items():
        sparks[origin, agent] = sparks.get((origin, agent), Votes()) + votes
    assert sparks == (found.agents if starts else {})
    widths: dict[Bucket, int] = {"hour": HOUR, "day": DAY}
    for bucket, width in widths.items():
        figures = await summary(read_models, AT, span, bucket, filters)
        assert (figures.totals.total, figures.totals.user) == (len(rows), sum(row["origin"] == "user" for row in rows))
        by_start = Counter(row["occurred_at"] // width for row in rows)
        assert [one.total for one in figures.buckets] == [by_start[start] for start in sorted(by_start)]
        assert {one.name: one.not_ok for one in figures.by_agent_version} == {
            key: v.not_ok for (key,), v in counted(rows, "agent_version").items()
        }
    ranked = (await ranking(read_models, AT, span, 1, filters)).agents
    assert {(one.agent_id,): Votes(one.ok, one.neutral, one.not_ok) for one in ranked} == counted(rows, "agent_id")
    people = [row for row in rows if row["origin"] != "machine"]
    given = Counter((tag, "tag", row["reaction"]) for row in people for tag in row["tags"])
    given += Counter(
        (row["correction_type"], "correction_type", row["reaction"]) for row in rows if row["correction_type"]
    )
    listed = (await reasons(read_models, AT, span, filters)).reasons
    found_given = {(one.reason, one.kind, name): getattr(one, name) for one in listed for name in REACTIONS}
    assert {key: n for key, n in found_given.items() if n} == given
    said = [dict(row) for row in await read_models.fetch(VERDICTS, *span)]
    await check_calibration(read_models, span, filters, [row for row in said if matches(row, filters)])


async def check_calibration(
    read_models: Database, span: TimeSpan, filters: Filters, machine: list[dict[str, Any]]
) -> None:
    """Check every number of the calibration against each pair of verdicts, by `machine` and by a person at any time."""
    people = [row for row in await read_models.fetch(RECOUNT, *ALWAYS) if row["origin"] != "machine"]
    turns = ("conversation_id", "turn_id")
    pairs = [(m, p) for m in machine for p in people if all(m[name] == p[name] for name in turns)]
    figures = await calibration(read_models, AT, span, filters)
    confusion = Counter((m["reaction"], p["reaction"]) for m, p in pairs)
    assert {(m, p): n for m, row in figures.confusion.items() for p, n in row.items() if n} == confusion
    assert figures.pairs == len(pairs)
    assert figures.agreeing == sum(m["reaction"] == p["reaction"] for m, p in pairs)
    by_bin: dict[float, list[Any]] = defaultdict(list)
    for m, p in pairs:
        by_bin[m["confidence"] if m["confidence"] < 1 else 0.95].append((m, p))  # all but 1 begin their bins
    assert [(one.low, one.pairs, one.agreeing, pytest.approx(one.mean_confidence)) for one in figures.bins] == [
        (
            low,
            len(of),
            sum(m["reaction"] == p["reaction"] for m, p in of),
            sum(m["confidence"] for m, _ in of) / len(of),
        )
        for low, of in sorted(by_bin.items())
    ]


@pytest.mark.parametrize("seed", range(3))
async def test_figures_equal_a_recount_at_any_moment(read_models: Database, seed: int) -> None:
    choose = random.Random(seed)
    for moment in range(30):
        await happens(read_models, choose, revision=100 * moment + 1)
        begin = START + choose.randrange(LENGTH)
        span = TimeSpan(begin, begin + choose.choice([HOUR // 2, 3 * HOUR, 5 * DAY, 20 * DAY, 45 * DAY]))
        if choose.random() < 0.2:
            span = TimeSpan(span.start // DAY * DAY, span.start // DAY * DAY + 30 * DAY)
        starts = sorted(choose.randrange(span.start, span.end) for _ in range(choose.randrange(4)))
        await check(read_models, span, choose.choice(FILTERS), starts)
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
    for filters in FILTERS:
        await check(read_models, TimeSpan(START - DAY, START + LENGTH), filters, [START + 7, START + 20 * DAY])


async def test_an_hour_that_changes_while_it_is_counted_stays_stale(read_models: Database) -> None:
    projector, rollups = ProjectionHandler(PostgresReadModels(read_models)), Rollups(read_models, SystemClock())
    await projector.handle(batch(feedback("f1", at=0)))
    async with read_models.acquire() as held, held.transaction(isolation="repeatable_read"):
        await held.fetchval("select count(*) from stale_hours")
        await projector.handle(batch(feedback("f2", turn="t2", at=1)))
        assert await rollups.catch_up(quiet=0) == 1
        # In this older snapshot the hour is still stale.
        assert await held.fetchval("select count(*) from stale_hours") == 1
    async with read_models.acquire() as writing, writing.transaction():
        await writing.execute("update feedbacks set reaction = 'not_ok' where feedback_id = $1", feedback_id("f1"))
        assert await rollups.catch_up(quiet=0) == 0
        await projector.handle(batch(feedback("f3", turn="t3", at=2)))
        assert await rollups.catch_up(quiet=0) == 0  # with whoever writes, once they are done
    span = TimeSpan(START - DAY, START + DAY)
    assert (await breakdown(read_models, AT, span, Filters())).whole["user"] == Votes(ok=2, not_ok=1)
    await check(read_models, span, Filters(), [])


async def test_the_first_count_of_a_table_without_statistics_analyses_it(read_models: Database) -> None:
    rows = "select reltuples from pg_class where oid = 'feedbacks'::regclass"
    await read_models.execute("truncate feedbacks")
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(feedback("f1", at=0)))
    assert await read_models.fetchval(rows) == -1
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    assert await read_models.fetchval(rows) == 1


@pytest.mark.parametrize("judged", [True, False])
async def test_of_two_that_change_one_turn_at_once_both_are_counted(read_models: Database, judged: bool) -> None:
    """Neither transaction sees the other's change: a verdict and its judgement, or a reaction and its replacement."""
    rollups = Rollups(read_models, SystemClock())
    first = feedback("first", kind="inferred" if judged else "reaction", reaction=None, at=0)
    second = feedback("second", reaction=None, at=5 * 3600)
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(first, second))
    await rollups.catch_up(quiet=0)
    say = "update feedbacks set reaction = $2 where feedback_id = $1"
    async with read_models.acquire() as one, read_models.acquire() as other, other.transaction():
        async with one.transaction():
            await one.execute(say, feedback_id("first"), "ok")
            await other.execute(say, feedback_id("second"), "not_ok")
        assert await rollups.catch_up(quiet=0, longest=0) == 0
        await check(read_models, TimeSpan(START - DAY, START + DAY), Filters(), [])
    assert await rollups.catch_up(quiet=0) == 2
    await check(read_models, TimeSpan(START - DAY, START + DAY), Filters(), [])


async def test_what_is_noted_after_a_look_stays_noted_while_somebody_writes(read_models: Database) -> None:
    projector, rollups = ProjectionHandler(PostgresReadModels(read_models)), Rollups(read_models, SystemClock())
    write = "update feedbacks set text = 'x' where feedback_id = $1"
    await projector.handle(batch(feedback("f1", at=0), feedback("f2", turn="t2", at=DAY // 1_000_000)))
    await rollups.catch_up(quiet=0)
    async with read_models.acquire() as later, later.transaction():
        async with read_models.acquire() as writing, writing.transaction():
            await writing.execute(write, feedback_id("f2"))
            await projector.handle(batch(feedback("f3", turn="t3", at=1)))
            assert await rollups.catch_up(quiet=0) == 0
        await later.execute(write, feedback_id("f2"))
        await projector.handle(batch(feedback("f4", turn="t4", at=2)))
        assert await rollups.catch_up(quiet=60, longest=0) == 1  # f3 was there at the look before, f4 was not
        assert await read_models.fetchval("select count(distinct hour) from stale_hours") == 2
        await check(read_models, TimeSpan(START - DAY, START + 2 * DAY), Filters(), [])
        assert await rollups.catch_up(quiet=0, longest=0) == 0
    assert await rollups.catch_up(quiet=0) == 2
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
    await check(read_models, TimeSpan(START - DAY, START + 2 * DAY), Filters(), [])


async def test_an_operator_is_told_of_a_transaction_that_keeps_hours_from_being_counted(
    read_models: Database, postgres_url: str
) -> None:
    clock = HandClock()
    projector, rollups = ProjectionHandler(PostgresReadModels(read_models)), Rollups(read_models, clock)
    stranger = await asyncpg.connect(postgres_url)
    async with stranger.transaction():
        await stranger.execute("select pg_current_xact_id()")
        await projector.handle(batch(feedback("f1", at=0)))
        assert await rollups.catch_up(quiet=0) == 0
        assert rollups.warnings == ()
        clock.forward(20 * 60)
        assert await rollups.catch_up(quiet=0) == 0
        warned: tuple[str, ...] = rollups.warnings
        assert ["a PostgreSQL transaction has been open for over 20 minutes" in one for one in warned] == [True]
    await stranger.close()
    assert await rollups.catch_up(quiet=0) == 1
    clock.forward(20 * 60)
    assert rollups.warnings == (), "nothing waits"


async def test_what_a_server_said_that_has_been_replaced_counts_no_more(read_models: Database) -> None:
    """A restored database continues transaction ids from its copy, so ids of ended transactions are assigned again."""
    rollups = Rollups(read_models, SystemClock())
    rollups._settle(_SnapshotMark("890:901:890", 901))
    rollups._settle(_SnapshotMark("905:910:905", 910))
    assert rollups._settled == "890:901:890"
    rollups._settle(_SnapshotMark("500:520:505", 520))
    assert rollups._settled is None


async def test_an_erased_persons_tag_is_in_no_count(read_models: Database) -> None:
    said = [feedback("f1", kind="explicit", tags=("ours",), at=0), feedback("f2", user="bob", turn="t2", at=9)]
    said.append(feedback("f3", kind="explicit", tags=("theirs",), tenant="globex", at=1))
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*said))
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    assert await read_models.fetchval("select count(*) from rollups where reason = 'ours'") == 2
    await ReportingErasures(read_models).erase({Person("acme", "ann"): START + DAY})
    assert await read_models.fetchval("select count(*) from rollups where reason = 'ours'") == 0
    assert await read_models.fetchval("select count(*) from rollups where reason = 'theirs'") == 2
    await check(read_models, TimeSpan(START - DAY, START + DAY), Filters(), [])


async def test_a_step_that_begins_within_an_hour_divides_it(read_models: Database) -> None:
    """Days of time zones with an offset of half an hour begin within an hour."""
    said = (feedback(f"f{minute}", turn=f"t{minute}", at=60 * minute) for minute in range(0, 240, 7))
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*said))
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    hour = START // HOUR * HOUR
    await check(
        read_models, TimeSpan(hour - DAY, hour + DAY), Filters(), [hour - DAY, hour + HOUR // 2, hour + 5 * HOUR // 2]
    )
    await check(read_models, TimeSpan(hour - DAY, hour + DAY), Filters(agent_id="agent-a"), [hour + HOUR // 2])
