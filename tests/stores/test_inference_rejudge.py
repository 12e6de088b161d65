"""Judging again with a later detector: verdicts are announced or retracted, also after a stop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contracts.detectors import DetectorVersion
from contracts.feedback import FeedbackInferredReceived
from contracts.headers import LOG_TIME
from contracts.topics import INFERRED_RECEIVED
from detector.encoders.embedder import WordLlamaEmbedder
from feedback.handlers import FeedbackHandler
from feedback.reward import DEFAULT_REWARDS
from inference import rejudge
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.rejudge import Rejudging
from inference.sql import SQL
from inference.store import ConversationStore as PostgresStore
from inference.turns.store import TurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.feedback_events import RecordingProducer
from tests.support.feedback_memory import MemoryStore
from tests.support.known_detectors import KnownDetector
from tests.support.reporting_events import START, batch, message

SCHEMA = SQL.schema
TABLES = "truncate messages, turns, verdicts"
OLD = KnownDetector(DetectorVersion(9, 1, "ffffffff"), {"wrong": "rejected", "gone": "rejected", "turned": "rejected"})
NEW = KnownDetector(DetectorVersion(10, 1, "00000000"), {"wrong": "rejected", "come": "accepted", "turned": "accepted"})
EVERY = 10
"""Number of messages: two conversations of five."""
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
        self.pool, self.connection = pool, connection
        self.log: list[Any] = []

    def rejudging(self, detector: Any = NEW, producer: Any = None) -> Rejudging:
        turns = TurnIndex(self.connection, VECTORS)
        judging = Judging(turns, producer or RecordingProducer(), detector)
        return Rejudging(self.connection, PostgresStore(self.pool), judging)

    async def take(self, detector: Any, *events: Any) -> None:
        producer = RecordingProducer()
        turns = TurnIndex(self.pool, VECTORS)
        await ConversationHandler(PostgresStore(self.pool), Judging(turns, producer, detector)).handle(batch(*events))
        self.log += producer.sent

    async def rejudge(self, detector: Any = NEW, producer: Any = None, since: int = 0) -> Any:
        producer = producer or RecordingProducer()
        try:
            return await self.rejudging(detector, producer).run(since)
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
    f"{conversation} {name}": (value, str(NEW.version))
    for conversation in ("c1", "c2")
    for name, value in (("m0", -1.0), ("m2", 0.5), ("m3", 0.5))
}


@pytest_asyncio.fixture
async def judged(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inference]:
    """Yield two conversations with verdicts of the old detector."""
    monkeypatch.setattr(rejudge, "BATCH", 3)
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=3)
    await pool.execute(TABLES)
    async with pool.acquire() as connection:
        found = Inference(pool, connection)
        for conversation in ("c1", "c2"):
            await found.take(OLD, *chat(conversation))
        yield found
    await pool.close()


async def standing(judged: Inference) -> Any:
    rows = await judged.pool.fetch(
        "select conversation_id, message_id, status, turn_id, release from verdicts order by 1, 2"
    )
    return [tuple(row) for row in rows]


async def test_every_verdict_is_given_again_and_what_no_longer_holds_is_retracted(judged: Inference) -> None:
    assert sorted(await judged.ledger()) == sorted(f"{c} m{n}" for c in ("c1", "c2") for n in (0, 1, 3))
    assert await judged.rejudging().count(0) == EVERY
    assert await judged.rejudge() == EVERY
    assert await judged.ledger() == EXPECTED
    assert {row[-1] for row in await standing(judged)} == {NEW.version.release}


async def test_verdicts_of_the_same_or_a_higher_stamp_are_left_alone(judged: Inference) -> None:
    same = KnownDetector(OLD.version._replace(digest="00000000"), NEW.words)
    without_encoder = KnownDetector(OLD.version._replace(mode=0), NEW.words)
    for detector in (same, without_encoder):
        assert await judged.rejudging(detector).count(0) == 0
        assert await judged.rejudge(detector) == 0
    assert await judged.rejudge() == EVERY
    assert await judged.rejudge() == 0


@pytest.mark.parametrize("written", [False, True], ids=["before the write", "before the commit"])
@pytest.mark.parametrize("batches", range(4))
async def test_a_run_that_is_killed_is_finished_by_the_next(judged: Inference, batches: int, written: bool) -> None:
    with pytest.raises(Stopped):
        await judged.rejudge(producer=KilledProducer(batches, written=written))
    assert await judged.rejudging().count(0) == 10 - 3 * batches
    assert await judged.rejudge() == 10 - 3 * batches
    assert await judged.ledger() == EXPECTED
    later = [event for event in map(_event, judged.log) if event.detector_version == str(NEW.version)]
    ids = Counter((event.event_id, event.verdict) for event in later)
    assert len({id_ for id_, _ in ids}) == len(ids) == 8, "a batch that comes again makes the same events"


async def test_only_messages_from_the_time_on_are_judged_again(judged: Inference) -> None:
    await judged.take(OLD, *chat("c3", after=10_000))
    since = START + 10_000 * 1_000_000
    assert await judged.rejudging().count(since) == 5
    assert await judged.rejudge(since=since) == 5
    ledger = await judged.ledger()
    assert ledger["c1 m1"] == (-1.0, str(OLD.version))
    assert "c3 m1" not in ledger


async def test_a_verdict_that_a_service_gives_meanwhile_does_not_outrank_the_later_detectors(judged: Inference) -> None:
    await judged.rejudge()
    await judged.take(OLD, *chat("c1"), *chat("c3"))
    assert (await judged.ledger())["c3 m1"] == (-1.0, str(OLD.version))
    assert {one: value for one, value in (await judged.ledger()).items() if "c3" not in one} == EXPECTED


async def test_an_announcement_has_the_time_that_the_words_came_in(judged: Inference) -> None:
    """So an erasure since then covers them."""
    await judged.pool.execute("update messages set stored_at = '2026-01-01T00:00:00Z'")
    producer = RecordingProducer()
    await judged.rejudge(producer=producer)
    assert {one.headers for one in map(_frozen, producer.sent)} == {((LOG_TIME, b"1767225600000000"),)}


def _event(record: Any) -> FeedbackInferredReceived:
    return FeedbackInferredReceived.model_validate_json(record.value)


def _frozen(record: Any) -> Any:
    from dataclasses import replace

    return replace(record, headers=tuple(record.headers))
