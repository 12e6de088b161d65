"""Outcome of a batch whose handler, database or log fails."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError
from pydantic.alias_generators import to_camel
from structlog.testing import capture_logs

from contracts.base import SHORTEST_EVENT
from contracts.topics import TOPICS, Topic
from servicekit import metrics
from servicekit.errors import LogUnavailable, Permanent, Unavailable
from servicekit.log.backoff import Backoff, Interrupted
from servicekit.log.delivery import BISECT_AFTER, BLAME_AFTER, Delivery
from servicekit.log.handler import Handler, ids_of
from servicekit.log.outcome import Observation, Outcome
from servicekit.log.records import Message, RawRecord, Received, Written
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.otlp import ServiceTracing
from tests.support.hand_clock import FixedClock, HandClock
from tests.support.logs import NOW, RecordingLog, example, raw
from tests.support.waits import PATIENCE_SECONDS

TOPIC = "chat.message.ingested"


class NoWait(Backoff):
    """Does not wait, and counts the waits."""

    def __init__(self, at_most: int = 1_000) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._at_most = at_most

    async def wait_seconds(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) > self._at_most or self.give_up.is_set():
            raise Interrupted


class AcceptingHandler(Handler):
    """Accepts every record, unless `decide` raises for it."""

    def __init__(self, decide: Callable[[str], None] = lambda _: None) -> None:
        self.decide = decide
        self.taken: list[str] = []
        self.unsure: list[str] = []
        self.probe_fails = False

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        for received in batch:
            self.decide(received.event.message_id)
        self.taken += [received.event.message_id for received in batch]
        return [Outcome.STORED] * len(batch)

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        self.unsure += [received.event.message_id for received in batch]

    async def probe(self) -> None:
        if self.probe_fails:
            raise Unavailable("the database")


def replace_key(record: RawRecord, key: bytes) -> RawRecord:
    return record._replace(key=key)


def message(number: int, **changes: Any) -> RawRecord:
    return raw(TOPIC, example(TOPIC, "least", messageId=f"m{number}", eventId=f"e{number}", **changes), number)


def outage(_: str) -> None:
    raise Unavailable("the database")


class Run:
    """One delivery with its log, its observed outcomes and its commits."""

    def __init__(
        self,
        handler: AcceptingHandler,
        log: RecordingLog | None = None,
        backoff: NoWait | None = None,
        tracing: ServiceTracing | None = None,
    ) -> None:
        self.handler = handler
        self.log = log or RecordingLog()
        self.seen: list[Observation] = []
        self.backoff = backoff or NoWait()
        self.commits = 0
        self.committed: list[RawRecord] = []
        self.accepted = True
        self.delivery = Delivery(
            "chat_bridge",
            handler,
            self.log,
            clock=FixedClock(NOW),
            observers=[self.seen.append],
            backoff=self.backoff,
            probe=handler.probe,
            tracing=tracing,
        )

    async def commit(self, records: Sequence[RawRecord]) -> bool:
        self.commits += 1
        self.committed += records
        return self.accepted

    async def deliver(self, *records: RawRecord) -> list[Outcome]:
        await self.delivery.deliver(records, self.commit)
        return [observation.outcome for observation in self.seen]


async def test_good_records_are_handled_at_once_and_committed() -> None:
    run = Run(AcceptingHandler())
    assert await run.deliver(message(1), message(2)) == [Outcome.STORED, Outcome.STORED]
    assert (run.handler.taken, run.commits, run.log.messages) == (["m1", "m2"], 1, [])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "empty"),
        (b"", "too_short"),
        (b"[]", "too_short"),
        (b'{"a": "\xff"}'.rjust(SHORTEST_EVENT), "invalid_json"),
        (b"[" * 5_000, "invalid_json"),
        (b" " * 1_048_577, "too_large"),
        (example(TOPIC, "least", content="nul \u0000"), "invalid_event"),
        (example(TOPIC, "least", occurredAt="2026-06-01T12:05:01Z"), "future"),
        (example(TOPIC, "least")[:-1] + b', "tenant": "other"}', "repeated_key"),
        (example(TOPIC, "least")[:-1] + b', "unknown": [{"name": 1, "name": 1}]}', "repeated_key"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_an_unreadable_record_is_set_aside_and_the_rest_goes_on(value: bytes | None, reason: str) -> None:
    run = Run(AcceptingHandler())
    bad = raw(TOPIC, value, 7, 3, [("broken", b"\xff\xfe"), ("traceparent", b"\xff")])
    assert await run.deliver(message(1), bad, message(2)) == [
        Outcome.STORED,
        Outcome.dead_lettered(reason),
        Outcome.STORED,
    ]
    letter = run.log.messages[0]
    headers = {name: content.decode() for name, content in letter.headers}
    assert (letter.topic, letter.value, letter.key) == (f"{TOPIC}.dlq", value, "key")
    assert (headers["reason"], headers["topic"], headers["partition"], headers["offset"]) == (reason, TOPIC, "3", "7")
    assert (headers["service"], headers["timestamp"]) == ("chat_bridge", str(NOW))
    assert run.commits == 1


async def test_records_that_are_not_stored_are_logged_once_with_their_ids() -> None:
    class Ignoring(AcceptingHandler):
        async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
            outcomes = {"m1": Outcome.ignored("self_feedback"), "m2": Outcome.parked("no_message")}
            return [outcomes.get(received.event.message_id, Outcome.STORED) for received in batch]

    run = Run(Ignoring())
    with capture_logs() as lines:
        await run.deliver(*(message(n) for n in range(4)), *(raw(TOPIC, b"{", n) for n in (7, 8)))
    described = [(one["at"], one["message_id"], one["outcome"], one["reason"]) for one in lines]
    assert described == [
        (f"{TOPIC}:0:7", None, "dead_lettered", "too_short"),
        (f"{TOPIC}:0:1", "m1", "ignored", "self_feedback"),
        (f"{TOPIC}:0:2", "m2", "parked", "no_message"),
    ]
    assert {(one["event"], one["group"]) for one in lines} == {("not_stored", "chat_bridge")}
    assert (lines[1]["event_id"], lines[1]["conversation_id"]) == (
        "e1",
        json.loads(message(1).value or b"")["conversationId"],
    )

    run.delivery = Delivery("inference", run.handler, run.log, clock=FixedClock(NOW))
    with capture_logs() as lines:
        await run.deliver(message(1))
    assert lines == [], "the topic's first group has logged it"


async def test_a_group_that_does_not_keep_the_letters_passes_over_bad_records() -> None:
    run = Run(AcceptingHandler())
    run.delivery = Delivery(
        "reporting", run.handler, run.log, clock=FixedClock(NOW), observers=[run.seen.append], backoff=run.backoff
    )
    assert await run.deliver(raw(TOPIC, b"{")) == [Outcome.ignored("set_aside_elsewhere")]
    assert run.log.messages == []


async def test_an_outage_is_waited_out_and_never_dead_lettered() -> None:
    down = [True] * (BISECT_AFTER + 7)

    def decide(_: str) -> None:
        if down:
            down.pop()
            raise Unavailable("the database")

    run = Run(AcceptingHandler(decide))
    run.handler.probe_fails = True
    assert await run.deliver(message(1), message(2)) == [Outcome.STORED, Outcome.STORED]
    assert len(run.backoff.waits) == BISECT_AFTER + 7
    assert run.log.messages == []
    assert max(run.backoff.waits) <= 30


async def test_a_batch_that_keeps_failing_while_the_database_answers_is_taken_apart() -> None:
    def decide(message_id: str) -> None:
        if message_id == "m2":
            raise Unavailable("the database")

    run = Run(AcceptingHandler(decide))
    outcomes = await run.deliver(message(1), message(2), message(3))
    assert outcomes == [Outcome.STORED, Outcome.dead_lettered("bug"), Outcome.STORED]
    assert len(run.backoff.waits) == BISECT_AFTER - 1 + BLAME_AFTER - 1


async def test_failures_before_and_after_an_outage_are_not_added_up() -> None:
    """An outage explains the failures before it, which the probe may just have missed."""
    left = 2 * BLAME_AFTER - 1

    def decide(_: str) -> None:
        nonlocal left
        if left:
            left -= 1
            run.handler.probe_fails = left == BLAME_AFTER - 1
            raise Unavailable("the database")

    run = Run(AcceptingHandler(decide))
    assert await run.deliver(message(1)) == [Outcome.STORED]
    assert run.log.messages == []


@pytest.mark.parametrize("pick", [min, max])
async def test_a_connection_that_loses_responses_for_twenty_seconds_costs_no_record(
    pick: Callable[[float, float], float],
) -> None:
    """The probe succeeds all the time, as if the responses to writes alone were lost."""

    def decide(_: str) -> None:
        if sum(run.backoff.waits) < 20:
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    run = Run(AcceptingHandler(decide))
    run.backoff.pick = pick
    assert await run.deliver(message(1), message(2)) == [Outcome.STORED, Outcome.STORED]
    assert run.log.messages == []


@pytest.mark.parametrize("error", [asyncpg.DiskFullError, asyncpg.ReadOnlySQLTransactionError], ids=str)
async def test_a_database_that_only_reads_is_never_blamed_on_the_records(error: type[Exception]) -> None:
    down = [True] * (3 * BISECT_AFTER)

    def decide(_: str) -> None:
        if down:
            down.pop()
            raise error("no room")

    run = Run(AcceptingHandler(decide))
    assert await run.deliver(message(1), message(2)) == [Outcome.STORED, Outcome.STORED]
    assert run.log.messages == []


async def test_a_letter_leaves_out_a_key_too_large_to_write() -> None:
    run = Run(AcceptingHandler())
    huge = replace_key(raw(TOPIC, b"{"), b"k" * 700_000)
    assert await run.deliver(huge) == [Outcome.dead_lettered("too_short")]
    assert run.log.messages[0].key is None
    assert run.log.messages[0].size < MESSAGE_LIMIT


async def test_a_letter_quotes_nothing_of_the_sender() -> None:
    run = Run(AcceptingHandler())
    await run.deliver(message(1, attributes={"call Ann on 555": "x" * 300}, sequence="Ann's"))
    assert dict(run.log.messages[0].headers)["detail"] == b"sequence: input should be a valid integer"


async def test_what_a_lost_commit_left_is_repaired_even_after_the_partitions_are_gone() -> None:
    class Hiccup(AcceptingHandler):
        failed = False

        async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
            if not self.failed:
                self.failed = True
                raise Unavailable("the database")
            await super().commit_lost(batch)

    run = Run(Hiccup())
    run.accepted = False
    run.delivery.repair_backoff = NoWait()
    run.backoff.give_up.set()
    await run.deliver(message(1))
    assert run.handler.unsure == ["m1"]


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("user text"), "bug"), (Permanent("contradiction"), "contradiction")]
)
async def test_the_guilty_record_alone_is_set_aside(error: Exception, reason: str) -> None:
    def decide(message_id: str) -> None:
        if message_id == "m5":
            raise error

    run = Run(AcceptingHandler(decide))
    outcomes = await run.deliver(*(message(n) for n in range(9)))
    assert outcomes == [Outcome.dead_lettered(reason) if n == 5 else Outcome.STORED for n in range(9)]
    assert sorted(set(run.handler.taken)) == [f"m{n}" for n in range(9) if n != 5]
    assert all(b"user text" not in content for _, content in run.log.messages[0].headers)


async def test_a_letter_that_cannot_be_written_is_tried_again_before_the_commit() -> None:
    run = Run(AcceptingHandler(), RecordingLog(KafkaConnectionError(), KafkaConnectionError()))
    assert await run.deliver(raw(TOPIC, b"{")) == [Outcome.dead_lettered("too_short")]
    assert (len(run.log.messages), len(run.backoff.waits), run.commits) == (1, 2, 1)


async def test_a_letter_too_large_to_write_keeps_its_hash_and_its_place() -> None:
    run = Run(AcceptingHandler())
    await run.deliver(raw(TOPIC, b"x" * 2_600_000, 5))
    letter = run.log.messages[0]
    headers = dict(letter.headers)
    assert letter.value is None
    assert headers["sha256"] == hashlib.sha256(b"x" * 2_600_000).hexdigest().encode()
    assert (headers["bytes"], headers["offset"]) == (b"2600000", b"5")


async def test_a_refused_commit_makes_the_handler_look_again() -> None:
    run = Run(AcceptingHandler())
    run.accepted = False
    await run.deliver(message(1), raw(TOPIC, b"{", 1))
    assert run.handler.unsure == ["m1"]


async def test_a_stop_ends_the_wait_without_a_commit() -> None:
    run = Run(AcceptingHandler(outage))
    run.handler.probe_fails = True
    run.backoff.give_up.set()
    with pytest.raises(Interrupted):
        await run.deliver(message(1))
    assert run.commits == 0


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 0.2), (3, 0.8), (8, 25.6), (9, 30.0), (1_000_000, 30.0)])
async def test_waits_double_up_to_half_a_minute(attempt: int, seconds: float) -> None:
    waited: list[float] = []

    class Noting(Backoff):
        async def wait_seconds(self, seconds: float) -> None:
            waited.append(seconds)

    await Noting(pick=lambda _, most: most).wait(attempt)
    await Noting(pick=lambda least, _: least).wait(attempt)
    await Noting().wait(attempt)
    assert waited[:2] == pytest.approx([seconds, seconds / 2])
    assert seconds / 2 <= waited[2] <= seconds


async def test_a_wait_ends_at_once_when_it_is_given_up() -> None:
    backoff = Backoff()
    waiting = asyncio.create_task(backoff.wait(10))
    backoff.give_up.set()
    with pytest.raises(Interrupted):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waiting


def apart(number: int) -> RawRecord:
    """Return a message with its own conversation."""
    return message(number, conversationId=f"c{number}")


async def test_a_handler_that_always_fails_costs_twenty_letters_and_then_one_a_minute() -> None:
    def decide(_: str) -> None:
        raise ValueError("user text")

    run = Run(AcceptingHandler(decide), backoff=NoWait(at_most=5))
    with capture_logs() as logs, pytest.raises(Interrupted):
        await run.deliver(*(apart(n) for n in range(1_000)))
    assert run.backoff.waits == [60.0] * 6
    assert len(run.log.messages) == 25
    assert [record.coordinates.offset for record in run.committed] == list(range(25))
    assert [line["topic"] for line in logs if line["event"] == "group_held"] == [TOPIC]


async def test_a_hostile_record_that_is_sent_again_and_again_never_holds_the_group() -> None:
    def decide(message_id: str) -> None:
        if message_id.startswith("m9"):
            raise ValueError

    run = Run(AcceptingHandler(decide), backoff=NoWait(at_most=0))
    await run.deliver(*(message(9_000 + n) for n in range(900)))
    await run.deliver(*(message(n) for n in range(2, 50) if n != 9))
    assert not run.delivery.breaker.held
    assert run.seen[-1].outcome == Outcome.STORED
    assert len(run.log.messages) == 900


async def test_a_bug_while_the_probe_fails_waits_like_an_outage() -> None:
    failures = 10

    def decide(_: str) -> None:
        nonlocal failures
        failures -= 1
        if failures > 0:
            raise asyncpg.UndefinedColumnError
        run.handler.probe_fails = False

    run = Run(AcceptingHandler(decide))
    run.handler.probe_fails = True
    assert await run.deliver(*(apart(n) for n in range(20))) == [Outcome.STORED] * 20
    assert (len(run.log.messages), len(run.backoff.waits)) == (0, 9)


async def test_a_bug_that_goes_away_lets_the_rest_through_without_another_wait() -> None:
    left = 110

    def decide(_: str) -> None:
        nonlocal left
        left -= 1
        if left > 0:
            raise ValueError

    run = Run(AcceptingHandler(decide))
    outcomes = await run.deliver(*(apart(n) for n in range(5_000)))
    assert not run.delivery.breaker.held
    assert outcomes.count(Outcome.STORED) == 5_000 - len(run.log.messages)
    assert [record.coordinates.offset for record in run.committed] == list(range(5_000))


async def test_letters_that_cannot_be_written_are_logged_and_hold_readiness() -> None:
    clock = HandClock()

    class Slowly(NoWait):
        async def wait_seconds(self, seconds: float) -> None:
            await super().wait_seconds(seconds)
            clock.forward(20)
            said.append(delivery.stall.reason)

    said: list[str | None] = []
    log = RecordingLog(*(LogUnavailable("TopicAuthorizationFailedError") for _ in range(12)))
    delivery = Delivery("chat_bridge", AcceptingHandler(), log, clock=clock, backoff=Slowly(at_most=8))
    before = metrics.DEAD_LETTER_FAILURES.labels("chat_bridge")._value.get()

    async def commit(_: Sequence[RawRecord]) -> bool:
        raise AssertionError("the letter comes first")

    with pytest.raises(Interrupted), capture_logs() as lines:
        await delivery.deliver([raw(TOPIC, b"{")], commit)
    assert metrics.DEAD_LETTER_FAILURES.labels("chat_bridge")._value.get() - before == 9
    assert {line["event"] for line in lines} == {"dead_letters_wait"}
    assert lines[0]["error"] == "LogUnavailable"
    assert said[0] is None
    assert said[1] == ("nothing it reads has gone through for 40 s: dead letters cannot be written (LogUnavailable)")


async def test_letters_are_written_a_few_megabytes_at_a_time() -> None:
    log = PieceLog()
    run = Run(AcceptingHandler(), log)
    await run.deliver(*(raw(TOPIC, b"%d" % n + b" " * 1_000_000, n) for n in range(9)))
    assert log.pieces == [4, 4, 1]


async def test_equal_records_become_one_letter_with_their_count() -> None:
    run = Run(AcceptingHandler())
    longer = {n: b"{" * (SHORTEST_EVENT + n) for n in range(2)}
    many = [raw(TOPIC, longer[n % 2], n) for n in range(20_000)]
    rest = [raw(TOPIC, longer[1], 20_002), raw(TOPIC, longer[1], 20_003), raw(TOPIC, longer[0], 20_005, 1)]
    records = [*many, message(20_000), *rest]
    outcomes = await run.deliver(*records)
    assert outcomes.count(Outcome.dead_lettered("invalid_json")) == len(records) - 1 and len(run.committed) == len(
        records
    )
    said = [{name: value.decode() for name, value in letter.headers} for letter in run.log.messages]
    assert [(one["offset"], one.get("count")) for one in said] == [("0", "10000"), ("1", "10002"), ("20005", None)]
    assert said[0]["offsets"].startswith("0,2,4,6,") and len(said[0]["offsets"]) <= 32_768
    assert [letter.value for letter in run.log.messages] == [longer[0], longer[1], longer[0]]


async def test_distinct_records_too_short_for_an_event_become_one_letter() -> None:
    run = Run(AcceptingHandler())
    garbage = [raw(TOPIC, (b"{%d" % n).ljust(SHORTEST_EVENT - 1 if n % 2 else 0), 2 * n) for n in range(1_000)]
    long_ones = [raw(TOPIC, (b"{%d" % n).ljust(SHORTEST_EVENT), 3_000 + n) for n in range(2)]
    await run.deliver(*garbage, message(2_500), *long_ones, raw(TOPIC, b"{", 4_000, 1))
    said = [{name: value.decode() for name, value in letter.headers} for letter in run.log.messages]
    assert [(one["reason"], one["offset"], one.get("count")) for one in said] == [
        ("too_short", "0", "1000"),
        ("invalid_json", "3000", None),
        ("invalid_json", "3001", None),
        ("too_short", "4000", None),
    ]
    assert said[0]["offsets"].split(",") == [str(2 * n) for n in range(1_000)], "each can be found in the log"


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_no_event_is_shorter_than_the_shortest(topic: Topic) -> None:
    """Each required field needs its quoted name, a colon, a value and a comma or brace; the object needs a brace."""
    fields = topic.event.model_fields.items()
    names = [field.alias or to_camel(name) for name, field in fields if field.is_required()]
    assert 1 + sum(len(name) + len('"":1,') for name in names) >= SHORTEST_EVENT


class PieceLog(RecordingLog):
    """Log that counts the messages of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[int] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.pieces.append(len(messages))
        return await super().send(messages)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (asyncpg.ReadOnlySQLTransactionError("x"), "the database is read-only"),
        (LogUnavailable(), "the log does not take what is written to it"),
        (Unavailable("the feedback store", "NotPrimary"), "the feedback store is not available: NotPrimary"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_batch_that_waits_for_half_a_minute_says_why(error: Exception, words: str) -> None:
    clock = HandClock()
    tries = 0

    def decide(_: str) -> None:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise error

    said: list[str | None] = []

    class Slowly(NoWait):
        async def wait_seconds(self, seconds: float) -> None:
            clock.forward(20)
            said.append(delivery.stall.reason)

    handler = AcceptingHandler(decide)
    handler.probe_fails = True
    delivery = Delivery("chat_bridge", handler, RecordingLog(), clock=clock, backoff=Slowly(), probe=handler.probe)

    async def commit(_: Sequence[RawRecord]) -> bool:
        said.append(delivery.stall.reason)
        return True

    await delivery.deliver([message(1)], commit)
    stuck = "nothing it reads has gone through for"
    assert said == [None, f"{stuck} 40 s: {words}", f"{stuck} 60 s: {words}", None]


WHOLE = {"tenant": "acme", "project": "support", "eventId": "e-1"}


@pytest.mark.parametrize(
    "value", [{}, [], "[" * 5_000, WHOLE | {"tenant": 7}, WHOLE | {"project": "a/b"}, WHOLE | {"tenant": ""}]
)
def test_a_record_without_a_valid_project_has_no_ids(value: object) -> None:
    assert ids_of(value.encode() if isinstance(value, str) else json.dumps(value).encode()) is None


@pytest.mark.parametrize(
    ("event_id", "named"),
    [
        ("e-1", "e-1"),
        ("x" * 256, "x" * 256),
        (7, "7"),
        (10**400, None),
        ("x" * 257, None),
        ("a\nb", None),
        (True, None),
        ({"a": 1}, None),
    ],
)
def test_only_a_valid_id_is_named(event_id: object, named: str | None) -> None:
    ids = ids_of(json.dumps(WHOLE | {"eventId": event_id}).encode())
    assert ids == ("acme", "support", named, None, None)
