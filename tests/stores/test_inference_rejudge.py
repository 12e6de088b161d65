"""Judging again with another detector: every verdict is compared, announced or retracted once, also after a stop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import inference.service
from contracts.feedback import FeedbackInferredReceived
from contracts.headers import LOG_TIME
from contracts.topics import INFERRED_RECEIVED
from detector.encoders.embedder import WordLlamaEmbedder
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from inference import rejudge as rejudging
from inference.detector_group import DetectorGroup
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.rejudge import rejudge, what_would_change
from inference.rejudgements import BEGINNING, Rejudgement, Rejudgements
from inference.store_postgres import PostgresConversationStore as PostgresStore
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from servicekit.errors import StartError
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.feedback_events import RecordingProducer
from tests.support.feedback_memory import MemoryStore
from tests.support.known_detectors import KnownDetector
from tests.support.reporting_events import START, batch, message

SCHEMA = Path(inference.service.__file__).parent / "sql" / "schema.sql"
TABLES = "truncate messages, turns, verdicts, rejudgements, detectors"
OLD = KnownDetector("2026-12-01.ffffffff", {"wrong": "rejected", "gone": "rejected", "turned": "rejected"})
NEW = KnownDetector("2026-11-23.00000000", {"wrong": "rejected", "come": "accepted", "turned": "accepted"})
EVERY = {"unchanged": 4, "withdrawn": 2, "added": 2, "reversed": 2}
"""Messages by difference: two conversations of five messages."""
VECTORS = TurnVectors(WordLlamaEmbedder())


def chat(conversation: str, after: float = 0) -> list[Any]:
    said = []
    for number, text in enumerate(("wrong", "gone", "come", "turned", "nothing")):
        at = after + 100 * number
        said += [
            message(f"a{number}", content="It opens at nine.", agent="bot", at=at, turn=f"t{number}",
                    conversation=conversation),
            message(f"m{number}", content=text, turn=f"u{number}", at=at + 10, conversation=conversation),
        ]  # fmt: skip
    return said


class Stopped(BaseException):
    """Stand-in for the death of the process."""


class KilledProducer(RecordingProducer):
    """Producer that ends the process before or after its n-th write."""

    def __init__(self, number: int, *, written: bool) -> None:
        super().__init__()
        self._left, self._written = number, written

    async def send(self, messages: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            if self._written:
                await super().send(messages)
            raise Stopped
        return await super().send(messages)


class Inference:
    """Inference's database, and the final state of a consumer of its verdicts."""

    def __init__(self, pool: Any, connection: Any) -> None:
        self.pool, self.rejudgements = pool, Rejudgements(connection)
        self.log: list[Any] = []

    async def judging(self, detector: Any, producer: Any) -> Judging:
        return Judging(PostgresTurnIndex(self.pool, VECTORS), producer, detector)

    async def take(self, detector: Any, *events: Any) -> None:
        producer = RecordingProducer()
        turns = PostgresTurnIndex(self.pool, VECTORS)
        await ConversationHandler(PostgresStore(self.pool), turns, producer, detector).handle(batch(*events))
        self.log += producer.sent

    async def rejudge(self, run: Any, detector: Any = NEW, producer: Any = None) -> Any:
        producer = producer or RecordingProducer()
        try:
            return await rejudge(
                PostgresStore(self.pool), self.rejudgements, await self.judging(detector, producer), run
            )
        finally:
            self.log += producer.sent

    async def ledger(self) -> dict[str, tuple[float, str]]:
        """Return reward and detector of each message's feedback that counts, by conversation and message."""
        store, log = MemoryStore(), RecordingProducer()
        received = []
        for offset, one in enumerate(self.log):
            event = FeedbackInferredReceived.model_validate_json(one.value)
            at = Coordinates(INFERRED_RECEIVED.name, 0, offset)
            received.append(Received(event, RawRecord(at, None, one.value, one.headers, event.occurred_at)))
        for one in received:
            await FeedbackHandler(store, log, DEFAULT_REWARDS).handle([one])
        newest: dict[str, dict[str, Any]] = {}
        for said in log.sent:
            event = json.loads(said.value or b"")
            newest[event["feedbackId"]] = event
        return {
            f"{one['conversationId']} {one['sourceId'].partition(':')[0]}": (one["value"], one["detector"])
            for one in newest.values()
            if one["value"] is not None
        }


EXPECTED = {
    f"{conversation} {name}": (value, NEW.version)
    for conversation in ("c1", "c2")
    for name, value in (("m0", -1.0), ("m2", 0.5), ("m3", 0.5))
}


@pytest_asyncio.fixture
async def judged(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inference]:
    """Yield two conversations with verdicts of the old detector."""
    monkeypatch.setattr(rejudging, "BATCH", 3)
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=3, plan="indexed")
    await pool.execute(TABLES)
    async with pool.acquire() as connection:
        found = Inference(pool, connection)
        for conversation in ("c1", "c2"):
            await found.take(OLD, *chat(conversation))
        yield found
    await pool.close()


async def standing(judged: Inference) -> Any:
    rows = await judged.pool.fetch(
        "select conversation_id, message_id, status, turn_id, epoch from verdicts order by 1, 2"
    )
    return [tuple(row) for row in rows]


async def test_a_comparison_counts_every_message_and_changes_nothing(judged: Inference) -> None:
    before = await standing(judged)
    producer = RecordingProducer()
    found = await what_would_change(
        PostgresStore(judged.pool), judged.rejudgements, await judged.judging(NEW, producer), 0
    )
    assert found.counts == Counter(EVERY)
    assert {(kind, one.key.message_id, one.text) for kind, one in found.examples()} == {
        ("withdrawn", "m1", "gone"),
        ("added", "m2", "come"),
        ("reversed", "m3", "turned"),
    }
    assert (await standing(judged), producer.sent, await judged.rejudgements.unfinished()) == (before, [], None)


async def test_every_verdict_is_given_again_and_what_no_longer_holds_is_retracted(judged: Inference) -> None:
    assert sorted(await judged.ledger()) == sorted(f"{c} m{n}" for c in ("c1", "c2") for n in (0, 1, 3))
    run = await judged.rejudgements.begin(0, NEW.version)
    found = await judged.rejudge(run)
    assert found.counts == Counter(EVERY)
    assert await judged.ledger() == EXPECTED
    assert {row[-1] for row in await standing(judged)} == {run.epoch}
    assert await judged.rejudgements.unfinished() is None
    again = await judged.rejudge(await judged.rejudgements.begin(0, NEW.version))
    assert again.counts == Counter({"unchanged": 10})
    assert await judged.ledger() == EXPECTED


@pytest.mark.parametrize("written", [False, True], ids=["before the write", "before the note"])
@pytest.mark.parametrize("batches", range(4))
async def test_a_run_that_is_killed_goes_on_where_it_was(judged: Inference, batches: int, written: bool) -> None:
    with pytest.raises(Stopped):
        begun = await judged.rejudgements.begin(0, NEW.version)
        await judged.rejudge(begun, producer=KilledProducer(batches, written=written))
    left = await judged.rejudgements.unfinished()
    assert left is not None
    assert (left.epoch, sum(left.counts.values())) == (begun.epoch, 3 * batches)
    found = await judged.rejudge(left)
    assert found.judged == 10
    assert await judged.ledger() == EXPECTED
    ids = Counter((event.event_id, event.verdict) for event in map(_event, judged.log) if event.epoch)
    assert len({id_ for id_, _ in ids}) == len(ids) == 8, "a batch that comes again makes the same events"


async def test_only_messages_from_the_time_on_are_judged_again(judged: Inference) -> None:
    await judged.take(OLD, *chat("c3", after=10_000))
    since = START + 10_000 * 1_000_000
    assert await judged.rejudgements.total(since) == 5
    found = await judged.rejudge(await judged.rejudgements.begin(since, NEW.version))
    assert found.judged == 5
    ledger = await judged.ledger()
    assert ledger["c1 m1"] == (-1.0, OLD.version)
    assert "c3 m1" not in ledger


async def test_what_services_judge_meanwhile_is_of_the_same_epoch(judged: Inference) -> None:
    run = await judged.rejudgements.begin(0, NEW.version)
    await judged.take(OLD, *chat("c3"))
    await judged.rejudge(run)
    assert (await judged.ledger())["c3 m1"] == (-1.0, OLD.version), "the later detector holds within an epoch"
    assert (await judged.ledger())["c1 m0"] == (-1.0, NEW.version)


async def test_an_announcement_has_the_time_that_the_words_came_in(judged: Inference) -> None:
    """So an erasure since then covers them."""
    await judged.pool.execute("update messages set stored_at = '2026-01-01T00:00:00Z'")
    producer = RecordingProducer()
    await judged.rejudge(await judged.rejudgements.begin(0, NEW.version), producer=producer)
    assert {one.headers for one in map(_frozen, producer.sent)} == {((LOG_TIME, b"1767225600000000"),)}


async def test_two_runs_at_once_are_refused(judged: Inference) -> None:
    await judged.rejudgements.lock()
    async with judged.pool.acquire() as other:
        with pytest.raises(StartError, match="Another `rejudge`"):
            await Rejudgements(other).lock()


async def test_a_mixed_group_is_known_while_it_judges(judged: Inference) -> None:
    counts = {"old": 1, "new": 0}
    old = DetectorGroup(judged.pool, OLD.version, lambda: counts["old"])
    new = DetectorGroup(judged.pool, NEW.version, lambda: counts["new"])
    for group in (old, new):
        await group.check()
    assert (old.warnings, new.warnings) == ((), ()), "one that has judged nothing is not in the group"
    counts["new"] = 1
    for group in (new, old):
        await group.check()
    assert all(OLD.version in one.warnings[0] and NEW.version in one.warnings[0] for one in (old, new))
    assert await judged.rejudgements.other_detectors(NEW.version) == [OLD.version]
    await judged.pool.execute(
        "update detectors set seen_at = now() - interval '6 minutes' where version = $1", OLD.version
    )
    await new.check()
    assert new.warnings == ()


async def test_a_detector_counts_for_minutes_and_is_forgotten_after_a_day(judged: Inference) -> None:
    counts = {"new": 1}
    group = DetectorGroup(judged.pool, NEW.version, lambda: counts["new"])
    ages = ("04 minutes", "06 minutes", "09 minutes", "11 minutes", "23 hours", "25 hours")
    for age in reversed(ages):
        await judged.pool.execute("insert into detectors values ($1, now() - $1::text::interval)", age)
    await group.check()
    assert group.versions == ["04 minutes", NEW.version]
    assert await judged.rejudgements.other_detectors(NEW.version) == ["04 minutes", "06 minutes", "09 minutes"]
    known = await judged.pool.fetch("select version from detectors order by 1")
    assert {row[0] for row in known} == {*ages[:-1], NEW.version}

    async def after_a_while() -> list[str]:
        await judged.pool.execute("update detectors set seen_at = seen_at - interval '6 minutes'")
        await group.check()
        return list(group.versions)

    assert await after_a_while() == [], "it has judged nothing since"
    counts["new"] = 2
    assert await after_a_while() == [NEW.version]
    assert group.warnings == ()


async def test_an_epoch_is_after_all_others_and_at_least_the_time_in_seconds(judged: Inference) -> None:
    runs = judged.rejudgements
    seconds = await judged.pool.fetchval("select floor(extract(epoch from now()))::bigint")
    assert await runs.unfinished() is None
    first = await runs.begin(5, OLD.version)
    assert first.epoch >= seconds
    await judged.pool.execute("insert into rejudgements (epoch, since, detector) values (1000000000000, 6, 'x')")
    second = await runs.begin(7, NEW.version)
    assert second == Rejudgement(1_000_000_000_001, 7, NEW.version, BEGINNING, {})
    assert await runs.unfinished() == second
    await runs.note(second.epoch, ("c1", "acme", "support", "03", "m1"), Counter(added=2, moved=1))
    noted = await runs.unfinished()
    assert noted == Rejudgement(
        second.epoch, 7, NEW.version, ("c1", "acme", "support", "03", "m1"), {"added": 2, "moved": 1}
    )
    rows = await judged.pool.fetch("select judged, position is null from rejudgements order by epoch")
    assert [tuple(row) for row in rows] == [(0, True), (0, True), (3, False)]
    await runs.finish(second.epoch)
    assert await runs.unfinished() is None, "a run that a later one replaced is not continued"
    assert await judged.pool.fetchval("select count(*) from rejudgements where finished_at is null") == 2


def _event(record: Any) -> FeedbackInferredReceived:
    return FeedbackInferredReceived.model_validate_json(record.value)


def _frozen(record: Any) -> Any:
    from dataclasses import replace

    return replace(record, headers=tuple(record.headers))
