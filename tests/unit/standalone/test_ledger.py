"""The ledger in the view of a consumer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from contracts.feedback import FeedbackExplicitReceived
from contracts.headers import REVISION, Headers
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Change, Record, merge, revise
from feedback.reward import change_of
from feedback.store import Save
from feedback.writer import message_of
from standalone.operations import ledger as ledger_module
from standalone.operations.ledger import (
    Ledger,
    agrees,
    differences,
    republish,
    verify,
)
from tests.support.feedback_memory import MemoryStore
from tests.support.logs import RecordingLog


def stored(revision: int) -> Record:
    event = FeedbackExplicitReceived(
        event_id="e1",
        occurred_at=1,
        tenant="acme",
        project="p",
        conversation_id="c",
        turn_id="t",
        agent_id="bot",
        user_id="ann",
        reaction="ok",
    )
    change = change_of(event)
    assert isinstance(change, Change)
    return revise(merge(None, change), revision * 1_000)


def record(value: bytes | None, offset: int, key: bytes, headers: Headers = (), partition: int = 3) -> ConsumerRecord:
    return ConsumerRecord(FEEDBACK_CREATED.name, partition, offset, 0, 1, key, value, None, 0, 0, tuple(headers))


def read(*revisions: int | None) -> tuple[Ledger, UUID]:
    """Return the ledger after announcements of those revisions of one feedback record; None is a tombstone."""
    ledger, id_ = Ledger(), stored(1).feedback_id
    for offset, revision in enumerate(revisions):
        value = None if revision is None else message_of(stored(revision)).value
        ledger.take(record(value, offset, str(id_).encode()))
    return ledger, id_


def test_the_highest_revision_holds_and_an_older_one_behind_it_is_stale() -> None:
    ledger, id_ = read(5, 9, 7)
    assert ledger.highest[id_].revision == 9
    assert ledger.stale == {id_}


def test_a_repeat_of_the_highest_behind_it_repairs_it() -> None:
    ledger, _ = read(5, 9, 7, 9)
    assert not ledger.stale
    assert ledger.ends == {TopicPartition(FEEDBACK_CREATED.name, 3): 4}


def test_what_comes_behind_the_tombstone_of_a_later_revision_is_stale() -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(None, 1, key, [(REVISION, b"8")]))
    ledger.take(record(message_of(stored(5)).value, 2, key))
    assert not ledger.highest
    assert ledger.stale == {id_}
    ledger.take(record(message_of(stored(9)).value, 3, key))
    assert ledger.highest[id_].revision == 9


def test_a_record_may_have_older_announcements_in_another_partition() -> None:
    """Partitions were added to the topic, so later announcements of the record are in another one."""
    ledger, id_ = read(5)
    ledger.take(record(message_of(stored(9)).value, 0, str(id_).encode(), partition=15))
    assert ledger.highest[id_].revision == 9
    assert not ledger.stale
    assert differences(ledger, {id_: stored(9)}) == {}


@pytest.mark.parametrize(("reached", "stale"), [((3, 15), False), ((15,), True), ((3,), True)])
def test_a_tombstone_must_reach_all_partitions_with_announcements(reached: tuple[int, ...], stale: bool) -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(message_of(stored(9)).value, 0, key, partition=15))
    for partition in reached:
        ledger.take(record(None, 9, key, [(REVISION, b"10")], partition))
    assert not ledger.highest
    assert (id_ in ledger.stale) is stale


def test_a_copy_of_a_tombstone_does_not_end_a_later_announcement() -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(message_of(stored(12)).value, 4, key, partition=15))
    ledger.take(record(None, 9, key, [(REVISION, b"10")]))
    assert ledger.highest[id_].revision == 12
    assert not ledger.stale


def test_what_is_no_announcement_is_named_until_something_sound_comes_behind_it() -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(b"{}", 1, key))
    ledger.take(record(b"{}", 2, b"no id"))
    ledger.take(record(b"{}", 3, b"no id"))
    assert (ledger.junk, ledger.records, len(ledger.highest)) == ({(3, key): 1, (3, b"no id"): 3}, 4, 1)
    ledger.take(record(message_of(stored(5)).value, 4, key))
    ledger.take(record(None, 5, b"no id"))
    assert not ledger.junk


def test_an_announcement_under_the_key_of_another_feedback_is_none() -> None:
    """Readers use the id in the announcement, compaction uses the key: no announcement would ever replace it."""
    ledger, other = Ledger(), str(UUID(int=1)).encode()
    ledger.take(record(message_of(stored(5)).value, 0, other))
    assert ledger.junk == {(3, other): 0}
    assert differences(ledger, {}) == {}


@pytest.mark.parametrize("named", [b"9" * 5_000, b"9" * 30, b"-1", "\u0665".encode(), b""])
def test_a_tombstone_that_names_no_revision_of_ours_ends_what_came_before_it(named: bytes) -> None:
    ledger, id_ = read(5)
    key = str(id_).encode()
    ledger.take(record(None, 1, key, [(REVISION, named)]))
    assert (ledger.highest, ledger.ended) == ({}, {id_: 0})


async def test_a_stored_feedback_that_cannot_be_announced_stops_nothing() -> None:
    sound, broken = stored(5), stored_with(tags=tuple(f"rule{n}" for n in range(21)))
    store, log = MemoryStore(), RecordingLog()
    await store.save([Save(sound, 0), Save(broken, 0)])
    result = await republish(store, log)
    assert result.announced == 1
    assert list(result.impossible) == [broken.feedback_id]
    assert result.impossible[broken.feedback_id].startswith("tags: ")
    assert [message.key for message in log.messages] == [str(sound.feedback_id)]
    ledger = Ledger()
    for message in log.messages:
        ledger.take(record(message.value, 0, str(message.key).encode()))
    assert differences(ledger, {one.feedback_id: one for one in (sound, broken)}) == {broken.feedback_id: "impossible"}


def stored_with(**changes: Any) -> Record:
    record = stored(7)
    slots = {name: replace(entry, payload=replace(entry.payload, **changes)) for name, entry in record.slots.items()}
    return replace(record, key=record.key._replace(source_id="another"), slots=slots)


def test_each_way_in_which_ledger_and_store_differ_is_named() -> None:
    ledger, id_ = read(5)
    assert differences(ledger, {id_: stored(5)}) == {}
    assert differences(ledger, {}) == {id_: "extra"}
    assert differences(ledger, {id_: stored(9)}) == {id_: "differing"}
    assert differences(Ledger(), {id_: stored(5)}) == {id_: "missing"}
    assert differences(read(5, 9, 7)[0], {id_: stored(9)}) == {id_: "stale"}


def test_a_record_without_key_is_junk_in_its_place() -> None:
    ledger = Ledger()
    keyless = record(message_of(stored(1)).value, 4, b"")
    keyless.key = None
    ledger.take(keyless)
    assert (ledger.junk, ledger.highest, ledger.records) == ({(3, b""): 4}, {}, 1)


class Topic:
    """The topic `feedback.created`, in which a further part of the records arrives with each pause."""

    def __init__(self, *parts: Sequence[ConsumerRecord]) -> None:
        self._parts = list(parts)
        self.pauses: list[float] = []

    async def records_of(
        self, bootstrap: object, topics: list[str], read: dict[TopicPartition, int], _: object
    ) -> AsyncIterator[list[ConsumerRecord]]:
        assert (bootstrap, topics) == ("localhost:1", [FEEDBACK_CREATED.name])
        arrived = [one for part in self._parts[: len(self.pauses) + 1] for one in part]
        yield [one for one in arrived if one.offset >= read.get(TopicPartition(one.topic, one.partition), 0)]

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def topic_with(monkeypatch: pytest.MonkeyPatch, *parts: Sequence[ConsumerRecord]) -> Topic:
    topic = Topic(*parts)
    monkeypatch.setattr(ledger_module, "records_of", topic.records_of)
    monkeypatch.setattr(ledger_module, "asyncio", SimpleNamespace(sleep=topic.sleep))
    return topic


def announced(one: Record, offset: int, partition: int = 3) -> ConsumerRecord:
    return record(message_of(one).value, offset, str(one.feedback_id).encode(), partition=partition)


async def store_with(*records: Record) -> MemoryStore:
    store = MemoryStore()
    await store.save([Save(one, 0) for one in records])
    return store


AGREED = {
    "records": 2, "feedbacks": 2, "stored": 2, "unreadable": 0, "unreadable_at": [], "missing": 0, "extra": 0,
    "differing": 0, "stale": 0, "impossible": 0, "first_difference": None,
}  # fmt: skip


async def test_a_record_that_reaches_the_log_late_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = stored(5), stored_with()
    topic = topic_with(monkeypatch, [announced(one, 0)], [], [announced(other, 1)])
    assert await verify("localhost:1", await store_with(one, other)) == AGREED
    assert topic.pauses == [1.0, 1.0]


async def test_a_record_that_is_stored_again_meanwhile_is_compared_in_its_new_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = topic_with(monkeypatch, [announced(stored(9), 0)])
    store = await store_with(stored(5))

    async def sleep(seconds: float) -> None:
        topic.pauses.append(seconds)
        await store.save([Save(stored(9), 5)])

    monkeypatch.setattr(ledger_module, "asyncio", SimpleNamespace(sleep=sleep))
    facts = await verify("localhost:1", store)
    assert (facts["stored"], facts["first_difference"], len(topic.pauses)) == (1, None, 1)


async def test_a_record_that_is_erased_meanwhile_is_not_stored_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    one = stored(5)
    key = str(one.feedback_id).encode()
    topic_with(monkeypatch, [announced(one, 0)], [record(None, 1, key, [(REVISION, b"6")])])
    store = await store_with(stored(7))
    load = store.load

    async def erased(ids: Any) -> dict[UUID, Record]:
        return {id_: replace(found, slots={}) for id_, found in (await load(ids)).items()}

    monkeypatch.setattr(store, "load", erased)
    facts = await verify("localhost:1", store)
    assert (facts["stored"], facts["feedbacks"], facts["first_difference"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("records", "held", "said"),
    [
        ([], stored(5), "is stored at revision 5 but not in the ledger"),
        ([announced(stored(5), 0)], None, "is in the ledger at revision 5 but not stored"),
        (
            [announced(stored(5), 0)], stored(9),
            "is stored at revision 9; the ledger has revision 5, or other content",
        ),
        (
            [announced(stored(9), 0), announced(stored(7), 1)], stored(9),
            "was last announced at an older or erased revision in a partition: compaction would keep that one",
        ),
    ],
)  # fmt: skip
async def test_a_difference_is_described_with_its_revisions(
    monkeypatch: pytest.MonkeyPatch, records: list[ConsumerRecord], held: Record | None, said: str
) -> None:
    topic_with(monkeypatch, records)
    facts = await verify("localhost:1", await store_with(*([held] if held else [])))
    assert facts["first_difference"] == f"Feedback {stored(5).feedback_id} {said}."
    assert not agrees(facts)


async def test_an_unreadable_record_alone_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    topic_with(monkeypatch, [announced(stored(5), 0), record(b"junk", 1, b"no id")])
    facts = await verify("localhost:1", await store_with(stored(5)))
    assert (facts["first_difference"], agrees(facts)) == (None, False)
