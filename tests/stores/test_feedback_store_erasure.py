"""Erasure in the feedback stores: the rows that remain, and the handler's behaviour on each store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from contracts.erasure import Erasure, Person, TrainingChoice, erasure_of
from contracts.ids import partition_of
from feedback.handlers import FeedbackHandler
from feedback.model import LedgerEntry, Record
from feedback.reward import DEFAULT_REWARDS
from feedback.store import Save, Store
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.records import Message, Written
from tests.support.feedback_events import (
    START,
    RecordingProducer,
    batch,
    choice,
    erasure,
    explicit,
    inferred,
    key,
    reaction,
    received,
    record,
    reply,
)

ANN, BOB = Person("acme", "ann"), Person("acme", "bob")
SECRET = "my landlord is Mr Grey"


@pytest.fixture
def store(feedback_store: Store) -> Store:
    return feedback_store


@pytest.fixture
def log() -> RecordingProducer:
    return RecordingProducer()


@pytest.fixture
def handler(store: Store, log: RecordingProducer) -> FeedbackHandler:
    return FeedbackHandler(store, log, DEFAULT_REWARDS)


async def scanned(store: Store) -> list[Record]:
    return [one async for page in store.scan() for one in page]


async def of_person(store: Store, person: Person, pages: int = 500) -> list[list[Record]]:
    return [list(page) async for page in store.scan_person(person, pages)]


async def test_stubs_are_in_no_scan_and_are_not_counted(store: Store) -> None:
    await store.save([Save(replace(record("gone"), slots={}), 0), Save(record("here"), 0)])
    assert await scanned(store) == [record("here")]
    assert await store.count() == Counter(explicit=1)


async def test_a_persons_records_are_those_of_all_projects_of_one_tenant(store: Store) -> None:
    theirs = [record(f"n{n}", project=project) for n in range(2) for project in ("support", "sales")]
    stub = replace(record("stub"), slots={})
    others = [record("o", user="bob"), record("o", tenant="globex")]
    await store.save([Save(one, 0) for one in [*theirs, stub, *others]])
    found = await of_person(store, ANN, pages=2)
    assert [len(page) for page in found] == [2, 2, 1]
    assert [one for page in found for one in page] == sorted([*theirs, stub], key=lambda one: one.feedback_id)
    assert await of_person(store, Person("globex", "bob")) == []


async def test_the_ledger_keeps_each_persons_last_erasure(store: Store) -> None:
    assert (await store.changes({}, [ANN], [])).ledger == {}
    assert (await store.changes({}, [], [])).ledger == {}
    assert await store.note_erasures([]) == set()
    assert await store.note_erasures([Erasure(ANN, "q1", 100), Erasure(BOB, "q2", 50)]) == {ANN, BOB}
    assert await store.note_erasures([Erasure(ANN, "q1", 100)]) == set()
    assert await store.note_erasures([Erasure(ANN, "q0", 100), Erasure(BOB, "q3", 49)]) == set()
    assert await store.note_erasures([Erasure(ANN, "q4", 101)]) == {ANN}
    assert (await store.changes({}, [ANN, BOB, Person("globex", "ann")], [])).ledger == {
        ANN: LedgerEntry(101),
        BOB: LedgerEntry(50),
    }
    assert (await store.changes({}, [Person("globex", "ann")], [])).ledger == {}


async def test_a_save_returns_the_erasures_that_its_writer_did_not_know(store: Store) -> None:
    await store.note_erasures([Erasure(ANN, "q1", 5)])
    assert (await store.save([Save(record("one"), 0)], [ANN, BOB])).unknown == {ANN: LedgerEntry(5)}
    known = record("two")
    assert await store.save([Save(known, 0)], [ANN, BOB], {ANN: LedgerEntry(5)}) == ({known.feedback_id}, {})
    await store.note_erasures([Erasure(ANN, "q2", 6)])
    assert (await store.save([Save(record("three"), 0)], [ANN, BOB], {ANN: LedgerEntry(5)})).unknown == {
        ANN: LedgerEntry(6)
    }


async def test_the_ledger_keeps_each_persons_last_choice_beside_the_erasure(store: Store) -> None:
    assert await store.note_choices([TrainingChoice(ANN, 5, "b", False), TrainingChoice(BOB, 5, "b", False)]) == {
        ANN,
        BOB,
    }
    assert await store.note_choices([TrainingChoice(ANN, 5, "b", False), TrainingChoice(BOB, 5, "a", True)]) == set()
    assert await store.note_erasures([Erasure(ANN, "q", 3)]) == {ANN}
    assert await store.note_choices([TrainingChoice(BOB, 6, "a", True)]) == {BOB}
    entries = {ANN: LedgerEntry(3, False), BOB: LedgerEntry(None, True)}
    assert (await store.changes({}, [ANN, BOB, Person("globex", "ann")], [])).ledger == entries
    unmarked = Save(record("one"), 0)
    assert (await store.save([unmarked], [ANN], {ANN: LedgerEntry(3)})).unknown == {ANN: entries[ANN]}
    assert (await store.save([Save(record("two"), 0)], [ANN], entries)).unknown == {}


async def test_a_choice_marks_all_records_of_a_person_and_can_be_revoked(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit(), explicit(project="sales"), explicit(user="bob")))
    log.sent.clear()

    async def announced(*events: Any) -> list[tuple[str, bool]]:
        log.sent.clear()
        assert await handler.handle(batch(*events)) == [Outcome.STORED] * len(events)
        values = [json.loads(message.value or b"") for message in log.sent]
        return sorted((value["userId"], value["trainingAllowed"]) for value in values)

    assert await announced(choice(at=10)) == [("ann", False)] * 2
    assert await announced(reaction("👍", at=11)) == [("ann", False)]
    assert await announced(choice(at=12, allowed=True)) == [("ann", True)] * 3
    assert await handler.handle(batch(choice(at=10))) == [Outcome.UNCHANGED]


async def test_an_erasure_leaves_no_text_and_tombstones_on_the_right_partition(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    said = [
        explicit(text=SECRET, correction=SECRET, tags=("secret tag",)),
        reply(SECRET),
        reaction("👍"),
        inferred(user_said=SECRET),
        explicit(text=SECRET, project="sales"),
    ]
    assert await handler.handle(batch(*said)) == [Outcome.STORED] * 5
    before = {one.feedback_id: one for one in await scanned(store)}
    log.sent.clear()

    assert await handler.handle(batch(erasure(at=10))) == [Outcome.STORED]

    (after,) = await of_person(store, ANN)
    assert [one.slots for one in after] == [{}] * 5
    assert all(one.revision > before[one.feedback_id].revision for one in after)
    assert [one.key for one in after] == [before[one.feedback_id].key for one in after]
    assert await scanned(store) == []
    (confirmed,) = [json.loads(message.value or b"") for message in log.confirmed]
    assert (confirmed["service"], confirmed["requestId"], confirmed["removed"]) == ("feedback", "q1", 5)
    conversations = {id_: f"acme/{one.key.project}/c1" for id_, one in before.items()}
    assert sorted((m.topic, m.key, m.value, m.partition_among(6)) for m in log.sent) == sorted(
        ("feedback.created", str(id_), None, partition_of(conversation, 6))
        for id_, conversation in conversations.items()
    )


async def test_after_a_loss_of_the_store_a_tombstone_ends_what_was_announced_before_the_erasure(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    """The ids of an earlier announcement are unknown; a record of later words needs a higher revision."""
    await handler.handle(batch(erasure(at=100)))
    old = received(explicit("ok", at=50, text=SECRET), logged=900)
    assert await handler.handle(batch(old)) == [ERASED]
    [tombstone] = log.sent
    assert (tombstone.value, dict(tombstone.headers)["revision"]) == (None, b"1790000100000")
    await handler.handle(batch(explicit("not_ok", at=1_000, event="x2", text="New.")))
    assert json.loads(log.sent[-1].value or b"")["revision"] > 1_790_000_100_000


async def test_a_person_who_comes_back_makes_the_feedback_anew(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit("ok", at=0, text=SECRET)))
    await handler.handle(batch(erasure(at=100)))
    (((stub,),)) = await of_person(store, ANN)
    assert await handler.handle(batch(explicit("not_ok", at=1_000, event="x2", text="New."))) == [Outcome.STORED]
    (stored,) = await scanned(store)
    announced = json.loads(log.last[str(stored.feedback_id)] or b"")
    assert (announced["change"], announced["text"], announced["reaction"]) == ("created", "New.", "not_ok")
    assert announced["revision"] == stored.revision > stub.revision


async def test_later_changes_stay_when_the_erasure_is_read_late(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await handler.handle(batch(reaction("👍", at=0), reaction("❤️", at=1_000, event="r2")))
    await handler.handle(batch(erasure(at=100)))
    (stored,) = await scanned(store)
    assert list(stored.slots) == ["❤"]
    assert json.loads(log.last[str(stored.feedback_id)] or b"")["emoji"] == "❤"
    await handler.handle(batch(received(reaction("❤️", "removed", at=1_001, event="r3"), logged=1_001)))
    assert [one.live for one in await scanned(store)] == [False]


async def test_a_repeated_request_repeats_the_tombstones_and_changes_nothing(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit(text=SECRET), reply(SECRET)))
    await handler.handle(batch(erasure(at=10)))
    stubs, first = await of_person(store, ANN), log.sent[2:]
    log.sent.clear()
    assert await handler.handle(batch(erasure(at=10))) == [Outcome.UNCHANGED]
    assert await of_person(store, ANN) == stubs
    assert log.sent == first
    assert len(first) == 2


async def test_more_records_than_a_page_are_all_forgotten(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await store.save([Save(record(f"n{n}", at=n), 0) for n in range(1_200)])
    await handler.handle(batch(erasure(at=10)))
    assert await store.count() == Counter()
    assert len(log.last) == 1_200
    assert set(log.last.values()) == {None}


class ErasedMeanwhile:
    """Store in which another process erases a person at `moment`."""

    def __init__(self, store: Store, moment: str, other: FeedbackHandler) -> None:
        self._store, self._moment, self._other = store, moment, other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def save(self, *arguments: Any) -> Any:
        await self._now("before save")
        return await self._store.save(*arguments)

    async def changes(self, *arguments: Any) -> Any:
        found = await self._store.changes(*arguments)
        await self._now("load")
        return found

    async def _now(self, name: str) -> None:
        if self._moment == name:
            self._moment = ""
            await self._other.handle(batch(erasure(at=10)))


@pytest.mark.parametrize("moment", ["load", "before save"])
async def test_a_batch_that_an_erasure_overtakes_leaves_no_text(
    store: Store, log: RecordingProducer, handler: FeedbackHandler, moment: str
) -> None:
    racing = FeedbackHandler(ErasedMeanwhile(store, moment, handler), log, DEFAULT_REWARDS)
    outcomes = await racing.handle(batch(explicit(text=SECRET), explicit(at=1_000, event="x2", turn_id="t2")))
    assert outcomes == [ERASED, Outcome.STORED]
    assert [one.key.source_id for one in await scanned(store)] == ["t2"]
    assert log.last[str(key().feedback_id)] is None
    assert not any(SECRET.encode() in (message.value or b"") for message in log.sent)


async def test_an_announcement_that_an_erasure_overtakes_is_followed_by_a_tombstone(
    store: Store, log: RecordingProducer, handler: FeedbackHandler
) -> None:
    class ErasedBeforeSending(RecordingProducer):
        async def send(self, messages: Sequence[Message]) -> list[Written]:
            if not log.sent:
                await handler.handle(batch(erasure(at=10)))
            return await log.send(messages)

    racing = FeedbackHandler(store, ErasedBeforeSending(), DEFAULT_REWARDS)
    assert await racing.handle(batch(explicit(text=SECRET))) == [ERASED]
    assert SECRET.encode() in (log.sent[1].value or b"")
    assert set(log.last.values()) == {None}
    assert await scanned(store) == []


class Overtaken(RecordingProducer):
    """Writes to `log`, where another process's newer change is announced right before the second announcement."""

    def __init__(self, log: RecordingProducer, other: FeedbackHandler) -> None:
        self.sent = log.sent
        self._log, self._other = log, other

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        if len(self.sent) == 1:
            await self._other.handle(batch(reaction("❤", at=1_001, event="r2")))
        return await self._log.send(messages)


@pytest.mark.parametrize("what", ["commit_lost", "erasure"])
async def test_the_newest_state_is_announced_last_though_an_older_one_was_on_its_way(
    store: Store, log: RecordingProducer, handler: FeedbackHandler, what: str
) -> None:
    said = batch(reaction("👍", at=1_000))
    await handler.handle(said)
    slow = FeedbackHandler(store, Overtaken(log, handler), DEFAULT_REWARDS)
    await (slow.commit_lost(said) if what == "commit_lost" else slow.handle(batch(erasure(at=10))))
    assert [json.loads(one.value)["emoji"] for one in log.sent if one.value] == ["👍", "❤", "👍", "❤"]


async def test_an_erasure_that_was_noted_but_not_carried_out_changes_the_records_once(
    handler: FeedbackHandler, store: Store, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit(text=SECRET)))
    await store.note_erasures([erasure_of(erasure(at=10), START + 10 * 1_000_000)])
    outcomes = [await handler.handle(batch(erasure(at=10))) for _ in range(2)]
    assert outcomes == [[Outcome.STORED], [Outcome.UNCHANGED]]
    assert [message.value for message in log.sent[1:]] == [None, None]
