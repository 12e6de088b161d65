"""Sums of verdicts in PostgreSQL: any order, repetitions, erasure, failures, and several processes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from contracts.erasure import Person
from contracts.feedback import FeedbackCreated, FeedbackErased
from feedback.aggregates.announcer import AggregateAnnouncer
from feedback.aggregates.handler import NO_VERDICT, VerdictHandler
from feedback.aggregates.store_postgres import PostgresAggregates
from feedback.turn_erasures import TurnErasures
from servicekit.errors import LogUnavailable
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.aggregate_recount import Raw, announced, recounted
from tests.support.databases import empty_schema
from tests.support.logs import RecordingLog
from tests.support.reporting_events import START, batch, feedback, feedback_id
from tests.support.waits import PATIENCE_SECONDS

NEVER = 10**6
"""Number of changes, or of quiet seconds, that no test reaches."""


@pytest.fixture
async def aggregates(postgres_url: str) -> AsyncIterator[PostgresAggregates]:
    async with empty_schema(postgres_url, "feedback") as pool:
        yield PostgresAggregates(pool)


def announcer(aggregates: PostgresAggregates, log: RecordingLog, **limits: Any) -> AggregateAnnouncer:
    return AggregateAnnouncer(aggregates, log, **({"after": 1, "quiet": NEVER} | limits))


def tombstone(name: str, revision: int) -> Received[FeedbackErased]:
    erased = FeedbackErased(feedback_id(name), revision)
    raw = RawRecord(Coordinates("feedback.created", 0, 0), str(erased.feedback_id).encode(), None, (), START)
    return Received(erased, raw)


def written(log: RecordingLog) -> list[Raw]:
    return [Raw(message.key or "", message.value) for message in log.messages]


def raw(one: Received[Any]) -> Raw:
    if isinstance(one.event, FeedbackErased):
        return Raw(str(one.event.feedback_id), None, one.event.revision)
    return Raw(str(one.event.feedback_id), one.event.model_dump_json(by_alias=True).encode())


def history(choose: random.Random) -> list[Received[Any]]:
    """Return announcements of 120 records in any order, some of them repeated, some erased."""
    found: list[Received[Any]] = []
    for number in range(120):
        kind = choose.choice(["reaction", "explicit", "explicit", "review", "inferred", "implicit"])
        fields: dict[str, Any] = {"kind": "explicit" if kind == "review" else kind}
        fields |= {"user": f"u{choose.randrange(3)}", "tenant": choose.choice(["acme", "globex"])}
        fields |= {"origin": "reviewer", "source": "review"} if kind == "review" else {}
        for revision in range(1, choose.randrange(2, 5)):
            place: dict[str, Any] = {"turn": f"t{choose.randrange(4)}", "agent": choose.choice(["a", "b"])}
            reaction = choose.choice(["ok", "not_ok", "neutral", None])
            at = choose.randrange(5)
            found += batch(feedback(f"r{number}", revision=revision, reaction=reaction, at=at, **place, **fields))
        if choose.random() < 0.1:
            found.append(tombstone(f"r{number}", 9))
    choose.shuffle(found)
    return found + choose.sample(found, 40)


@pytest.mark.parametrize("seed", range(5))
async def test_what_is_announced_equals_a_recount_of_the_feedback(aggregates: PostgresAggregates, seed: int) -> None:
    choose = random.Random(seed)
    events, log = history(choose), RecordingLog()
    handler, sweep = VerdictHandler(aggregates), announcer(aggregates, log, after=choose.choice([1, 3])).sweep
    rest: Sequence[Any] = events
    while rest:
        size = choose.randint(1, 50)
        some, rest = rest[:size], rest[size:]
        await handler.handle(some)
        if choose.random() < 0.5:
            await sweep()
    await announcer(aggregates, log, quiet=0).sweep()
    expected = recounted(raw(one) for one in events)
    assert len(expected) > 10
    assert announced(written(log)) == expected
    assert len({(one["aggregateId"], one["revision"]) for one in log.values("feedback.aggregated")}) == len(
        log.messages
    ), "no revision is announced twice"

    before = len(log.messages)
    await handler.handle(events)
    await announcer(aggregates, log, quiet=0).sweep()
    assert len(log.messages) == before, "nothing follows from a redelivery"


async def take(aggregates: PostgresAggregates, *events: FeedbackCreated) -> None:
    await VerdictHandler(aggregates).handle(batch(*events))


async def test_a_turn_is_announced_after_its_number_of_changes(aggregates: PostgresAggregates) -> None:
    log = RecordingLog()
    three = announcer(aggregates, log, after=3)
    await take(aggregates, feedback("a", user="ann"), feedback("b", user="bob"), feedback("o", turn="other"))
    await three.sweep()
    assert log.messages == []
    await take(aggregates, feedback("c", user="cy", reaction="not_ok"))
    await three.sweep()
    [event] = log.values("feedback.aggregated")
    assert (event["turnId"], event["count"], event["change"]) == ("t1", 3, "created")
    assert event["meanReward"] == pytest.approx(0.2)
    assert -1 <= event["intervalLow"] < 0.2 < event["intervalHigh"] <= 1
    await take(aggregates, feedback("a", revision=2, reaction=None), feedback("b", user="bob", revision=2, at=1))
    await three.sweep()
    assert len(log.messages) == 1
    await take(aggregates, feedback("c", user="cy", revision=2, reaction=None))
    await three.sweep()
    _, event = log.values("feedback.aggregated")
    assert (event["count"], event["meanReward"], event["change"]) == (1, 0.6, "updated")


async def test_a_turn_is_announced_once_it_is_quiet(aggregates: PostgresAggregates) -> None:
    log = RecordingLog()
    await take(aggregates, feedback("a"))
    await announcer(aggregates, log, after=NEVER, quiet=3600).sweep()
    assert log.messages == []
    await announcer(aggregates, log, after=NEVER, quiet=0).sweep()
    assert len(log.messages) == 1


async def test_each_verdict_begins_the_quiet_time_anew(aggregates: PostgresAggregates) -> None:
    """docs/aggregates.md: once none has changed for the seconds."""
    pool = aggregates._pool
    await take(aggregates, feedback("a", user="ann"))
    await pool.execute("update aggregated_turns set changed_at = changed_at - interval '100 seconds'")
    await take(aggregates, feedback("b", user="bob"))
    assert await aggregates.recount(NEVER, 90) == 0
    await pool.execute("update aggregated_turns set changed_at = changed_at - interval '100 seconds'")
    assert await aggregates.recount(NEVER, 90) == 1


async def test_a_turn_that_another_process_sums_up_holds_nobody(aggregates: PostgresAggregates) -> None:
    await take(aggregates, feedback("a"), feedback("o", turn="other"))
    async with aggregates._pool.acquire() as other, other.transaction():
        await other.execute("select from aggregated_turns where turn_id = 't1' for update")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await aggregates.recount(1, 0) == 1
    assert await aggregates.recount(1, 0) == 1


async def test_a_retraction_clears_and_a_new_verdict_restores(aggregates: PostgresAggregates) -> None:
    log = RecordingLog()
    sweep = announcer(aggregates, log).sweep
    for revision, reaction in ((10, "ok"), (20, None), (30, "not_ok")):
        await take(aggregates, feedback("a", revision=revision, reaction=reaction, at=revision))
        await sweep()
    first, cleared, again = log.values("feedback.aggregated")
    assert [one["change"] for one in (first, cleared, again)] == ["created", "cleared", "updated"]
    assert [one["revision"] for one in (first, cleared, again)] == [10, 20, 30]
    assert (cleared["count"], cleared["meanReward"], cleared["intervalLow"]) == (0, None, None)


@pytest.mark.parametrize("is_last", [True, False])
async def test_a_tombstone_ends_the_revision_that_it_names(aggregates: PostgresAggregates, is_last: bool) -> None:
    log = RecordingLog()
    [stated], [other] = batch(feedback("a", revision=5)), batch(feedback("b", user="bob"))
    erased = tombstone("a", 5)
    await VerdictHandler(aggregates).handle([other, *((stated, erased) if is_last else (erased, stated))])
    await announcer(aggregates, log).sweep()
    [found] = log.values("feedback.aggregated")
    assert found["count"] == 1


async def test_a_verdict_that_changes_nothing_visible_is_not_announced(aggregates: PostgresAggregates) -> None:
    log = RecordingLog()
    sweep = announcer(aggregates, log).sweep
    await take(aggregates, feedback("a"))
    await sweep()
    await take(aggregates, feedback("a", revision=2, at=1))
    await sweep()
    await take(aggregates, feedback("retracted", user="bob", reaction=None, turn="t9"))
    await sweep()
    assert len(log.messages) == 1


async def test_a_verdict_that_moves_to_another_turn_leaves_the_first(aggregates: PostgresAggregates) -> None:
    log = RecordingLog()
    sweep = announcer(aggregates, log).sweep
    await take(aggregates, feedback("m", kind="inferred", turn="t1"))
    await sweep()
    await take(aggregates, feedback("m", kind="inferred", turn="t2", revision=2))
    await sweep()
    said = {(one["turnId"], one["change"], one["count"]) for one in log.values("feedback.aggregated")[1:]}
    assert said == {("t1", "cleared", 0), ("t2", "created", 1)}


async def test_outcomes(aggregates: PostgresAggregates) -> None:
    handler = VerdictHandler(aggregates)
    events = batch(feedback("a"), feedback("a", revision=2), feedback("r", kind="implicit"))
    assert await handler.handle(events) == [Outcome.UNCHANGED, Outcome.STORED, NO_VERDICT]
    assert await handler.handle(events) == [Outcome.UNCHANGED, Outcome.UNCHANGED, NO_VERDICT]
    assert await handler.handle([tombstone("a", 3)]) == [Outcome.STORED]
    assert await handler.handle(batch(feedback("a", revision=2))) == [Outcome.UNCHANGED]


async def test_the_erasure_of_a_person_gives_a_new_revision(aggregates: PostgresAggregates) -> None:
    """The service's own erasure precedes the tombstones, and works while nobody reads them."""
    log = RecordingLog()
    sweep = announcer(aggregates, log).sweep
    pool = aggregates._pool
    later = feedback("late", user="eve", turn="t3", at=10_000)
    await take(aggregates, feedback("a", user="eve"), feedback("b", user="bob", reaction="not_ok"), later)
    await take(aggregates, feedback("c", user="eve", turn="t2"), feedback("d", user="eve", tenant="globex"))
    await sweep()
    await TurnErasures(pool, lambda person: person.user_id).erase({Person("acme", "eve"): START + 1_000_000})
    await sweep()
    said = {(one["turnId"], one["change"], one["count"]) for one in log.values("feedback.aggregated")[4:]}
    assert said == {("t1", "updated", 1), ("t2", "cleared", 0)}
    left = await pool.fetch("select turn_id, tenant from aggregated_verdicts where user_id = 'eve' order by 1")
    assert [tuple(row) for row in left] == [("t1", "globex"), ("t3", "acme")]
    await VerdictHandler(aggregates).handle([*batch(feedback("a", user="eve")), tombstone("a", 2)])
    await sweep()
    assert len(log.messages) == 6
    assert await pool.fetchval("select count(*) from aggregated_verdicts where user_id is null") == 2


async def test_a_failed_announcement_is_repeated_with_the_same_event(aggregates: PostgresAggregates) -> None:
    class Lost(RecordingLog):
        """Log that takes the first records and then does not acknowledge them."""

        async def send(self, messages: Sequence[Any]) -> Any:
            taken = await super().send(messages)
            if len(self.messages) == 1:
                raise LogUnavailable("no acknowledgement")
            return taken

    log = Lost()
    await take(aggregates, feedback("a"))
    with pytest.raises(LogUnavailable):
        await announcer(aggregates, log).sweep()
    await announcer(aggregates, log).sweep()
    await announcer(aggregates, log).sweep()
    first, again = log.messages
    assert (first.value, first.partition) == (again.value, again.partition)


async def test_a_late_announcement_of_an_old_revision_is_followed_by_the_latest(aggregates: PostgresAggregates) -> None:
    """A compacted topic keeps the last record of a key, which must be the highest revision."""
    await take(aggregates, feedback("a"))
    await aggregates.recount(1, NEVER)
    [old] = await aggregates.unannounced(9)
    await take(aggregates, feedback("a", revision=7, reaction="not_ok"))
    log = RecordingLog()
    await announcer(aggregates, log).sweep()
    assert await aggregates.unannounced(9) == []
    await aggregates.mark([old])  # another process has sent `old` just now
    await announcer(aggregates, log).sweep()
    assert [one["revision"] for one in log.values("feedback.aggregated")] == [7, 7]


@pytest.mark.parametrize("step", ["mark", "recount"])
async def test_sums_are_locked_in_the_order_of_their_ids(aggregates: PostgresAggregates, step: str) -> None:
    """Two processes that lock the same sums in different orders would wait for each other."""
    pool = aggregates._pool
    await take(aggregates, *(feedback(f"r{n}", turn=f"t{n}", user="ann") for n in range(30)))
    await aggregates.recount(1, NEVER)
    sums = await aggregates.unannounced(99)
    changed = (feedback(f"r{n}", turn=f"t{n}", user="ann", revision=7, reaction="not_ok") for n in range(30))
    await take(aggregates, *changed)
    async with pool.acquire() as holder, holder.transaction():
        await holder.execute("select from aggregates order by aggregate_id limit 1 for update")
        work = aggregates.mark(reversed(sums)) if step == "mark" else aggregates.recount(1, NEVER)
        task = asyncio.create_task(work)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await holder.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
        free = await pool.fetchval("select count(*) from (select from aggregates for update skip locked) one")
        assert free == 29, "whoever waits for the first one holds no other"
    await task


@pytest.mark.parametrize("step", ["take", "erase"])
async def test_verdicts_are_locked_in_the_order_of_their_ids(aggregates: PostgresAggregates, step: str) -> None:
    pool = aggregates._pool
    names = sorted((f"r{n}" for n in range(30)), key=feedback_id)
    await take(aggregates, *(feedback(name, turn=name, user="eve") for name in names))
    async with pool.acquire() as holder, holder.transaction():
        await holder.execute("select from aggregated_verdicts order by feedback_id limit 1 for update")
        if step == "take":
            work = take(aggregates, *(feedback(name, turn=name, user="eve", revision=2) for name in reversed(names)))
            task = asyncio.create_task(work)
        else:
            erasures = TurnErasures(pool, lambda person: person.user_id)
            task = asyncio.create_task(erasures.erase({Person("acme", "eve"): START}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await holder.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
        free = await pool.fetchval("select count(*) from (select from aggregated_verdicts for update skip locked) one")
        assert free == 29, "whoever waits for the first one holds no other"
    await task


@pytest.mark.parametrize("step", ["take", "erase"])
async def test_turns_are_marked_in_the_order_of_their_keys(aggregates: PostgresAggregates, step: str) -> None:
    """The keys are compared by project before conversation and turn."""
    pool = aggregates._pool

    def verdicts(revision: int) -> list[FeedbackCreated]:
        return [
            feedback(f"r{n}", project=f"p{n}", conversation=f"c{99 - n}", user="eve", revision=revision)
            for n in range(10, 40)
        ]

    await take(aggregates, *verdicts(1))
    async with pool.acquire() as holder, holder.transaction():
        await holder.execute("select from aggregated_turns where project = 'p10' for update")
        if step == "take":
            task = asyncio.create_task(take(aggregates, *verdicts(2)))
        else:
            erasures = TurnErasures(pool, lambda person: person.user_id)
            task = asyncio.create_task(erasures.erase({Person("acme", "eve"): START}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await holder.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
        free = await pool.fetchval("select count(*) from (select from aggregated_turns for update skip locked) one")
        assert free == 29, "whoever waits for the first one holds no other"
    await task


async def test_the_turns_that_wait_longest_are_summed_up_first(aggregates: PostgresAggregates) -> None:
    """A call takes 500 turns, so newer changes must not keep older ones waiting for ever."""
    pool = aggregates._pool
    await pool.execute(
        "insert into aggregated_turns (tenant, project, conversation_id, turn_id, changes, changed_at) "
        "select 'acme', 'support', 'c1', 't' || n, 1, now() - make_interval(secs => n) from generate_series(1, 502) n"
    )
    assert await aggregates.recount(1, NEVER) == 500
    left = await pool.fetch("select turn_id from aggregated_turns order by turn_id")
    assert [row["turn_id"] for row in left] == ["t1", "t2"]
    assert await aggregates.recount(1, NEVER) == 2
    assert await aggregates.recount(1, NEVER) == 0


async def test_at_most_the_given_number_of_aggregates_is_returned_sorted_by_id(aggregates: PostgresAggregates) -> None:
    await take(aggregates, *(feedback(f"r{n}", turn=f"t{n}") for n in range(6)))
    await aggregates.recount(1, NEVER)
    everything = await aggregates.unannounced(9)
    assert everything == sorted(everything, key=lambda one: one.aggregate_id) and len(everything) == 6
    assert await aggregates.unannounced(4) == everything[:4]
    await aggregates.mark(everything[:4])
    assert await aggregates.unannounced(4) == everything[4:]


async def test_processes_that_sum_up_at_the_same_time_announce_one_sum(aggregates: PostgresAggregates) -> None:
    logs = [RecordingLog() for _ in range(4)]
    events = [feedback(f"r{n}-{user}", turn=f"t{n}", user=user) for n in range(60) for user in ("ann", "bob")]

    async def one(number: int) -> None:
        for start in range(number, len(events), 20):
            await take(aggregates, *events[start : start + 5])
            await announcer(aggregates, logs[number % 4]).sweep()

    await asyncio.gather(*(one(number) for number in range(0, 20, 5)))
    await announcer(aggregates, logs[0]).sweep()
    sent = [message for log in logs for message in log.messages]
    values: dict[tuple[str, int], set[bytes]] = {}
    for log in logs:
        for message, event in zip(log.messages, log.values("feedback.aggregated"), strict=True):
            values.setdefault((event["aggregateId"], event["revision"]), set()).add(message.value or b"")
    assert all(len(one) == 1 for one in values.values()), "a revision is one event"
    expected = recounted(raw(one) for one in batch(*events))
    assert announced(Raw(message.key or "", message.value) for message in sent) == expected
