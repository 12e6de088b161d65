"""Effects of a batch of received feedback on an in-memory store."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.erasure import ERASURE_MARGIN, erasure_of
from contracts.feedback import FeedbackExplicitReceived
from feedback.handlers import FeedbackHandler
from feedback.model import Entry
from feedback.reward import DEFAULT_REWARDS
from feedback.store import Saved, Store
from feedback.writer import message_of
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from tests.support.feedback_events import (
    SECOND,
    START,
    RecordingProducer,
    batch,
    erasure,
    explicit,
    inferred,
    key,
    reaction,
    received,
    reply,
)
from tests.support.feedback_memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def log() -> RecordingProducer:
    return RecordingProducer()


@pytest.fixture
def handler(store: MemoryStore, log: RecordingProducer) -> FeedbackHandler:
    return FeedbackHandler(store, log, DEFAULT_REWARDS)


async def test_outcomes_stand_in_the_batchs_order_and_each_feedback_is_announced_once(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    outcomes = await handler.handle(
        batch(
            reaction("👍", event="r1"),
            explicit("ok"),
            reaction("🤔", event="r2"),
            reaction("👍", event="r1"),
            reply(reply_sender_id="agent-a"),
            explicit("not_ok", at=1, event="x2"),
            explicit("neutral", at=-1, event="x3"),
        )
    )
    assert outcomes == [
        Outcome.STORED,
        Outcome.STORED,
        Outcome.ignored("unmapped_emoji"),
        Outcome.UNCHANGED,
        Outcome.ignored("self_feedback"),
        Outcome.STORED,
        Outcome.ignored("superseded"),
    ]
    announced = {message.key: json.loads(message.value or b"") for message in log.sent}
    assert len(log.sent) == len(announced) == 2
    assert announced[str(key().feedback_id)]["reaction"] == "not_ok"
    assert {event["change"] for event in announced.values()} == {"created"}


async def test_a_repeated_batch_repeats_its_announcements_to_the_byte(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    said = batch(reaction("👍"), explicit("ok"))
    await handler.handle(said)
    first, log.sent = log.sent, []
    assert await handler.handle(said) == [Outcome.UNCHANGED, Outcome.UNCHANGED]
    assert log.sent == first


async def test_an_announcement_names_the_chat_record_that_it_comes_from(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await handler.handle(batch(explicit("ok")))
    assert [dict(message.headers)["cause"] for message in log.sent] == [b"feedback.explicit.received:0:0"]


async def test_an_emoji_that_has_left_the_table_can_still_be_taken_back(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await handler.handle(batch(reaction("👍", event="r1")))
    without = FeedbackHandler(store, log, {name: value for name, value in DEFAULT_REWARDS.items() if name != "👍"})
    taken_back = batch(reaction("👍", "removed", at=1, event="r2"))
    assert await without.handle(taken_back) == [Outcome.STORED]
    assert json.loads(log.sent[-1].value or b"")["change"] == "cleared"
    assert await without.handle(taken_back) == [Outcome.UNCHANGED]


async def test_taking_back_an_emoji_that_was_never_in_the_table_leaves_no_trace(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    never = reaction("🤔", "removed", at=1, event="r2")
    assert await handler.handle(batch(never)) == [Outcome.ignored("unmapped_emoji")]
    assert (await store.count()).total() == 0
    await handler.handle(batch(reaction("👍", event="r1")))
    assert await handler.handle(batch(never)) == [Outcome.ignored("unmapped_emoji")]
    announced = json.loads(log.sent[-1].value or b"")
    assert (announced["change"], announced["emoji"]) == ("created", "👍")


async def test_an_event_that_comes_again_under_another_derived_id_stays_one_feedback(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    """An event that is read again under another id is merged by its content."""
    await handler.handle(batch(reaction("👍", event="e1")))
    assert await handler.handle(batch(reaction("👍", event="e2"))) == [Outcome.UNCHANGED]
    first, second = [json.loads(message.value or b"") for message in log.sent]
    assert second["feedbackId"] == first["feedbackId"]
    assert (await store.count()).total() == 1
    differing = {name for name in first if first[name] != second[name]}
    assert differing <= {"eventId", "revision", "recordedAt", "causationId", "change"}


def revisions(log: RecordingProducer) -> list[int]:
    return [json.loads(message.value or b"")["revision"] for message in log.sent]


async def test_a_revision_is_the_log_time_of_the_last_event_that_changed_the_record(
    handler: FeedbackHandler, log: RecordingProducer
) -> None:
    first = explicit("ok")
    await handler.handle(batch(received(first, logged=5), received(first, logged=9)))
    assert revisions(log) == [START // 1_000 + 5_000]
    await handler.handle(batch(received(explicit("not_ok", at=-1, event="x0"), logged=20)))
    assert revisions(log)[-1] == START // 1_000 + 5_000, "an older judgement changes nothing"
    later = [received(explicit("not_ok", at=n, event=f"x{n}"), logged=20 + n) for n in (2, 3)]
    await handler.handle(batch(*later))
    assert revisions(log)[-1] == START // 1_000 + 23_000


async def test_a_batch_goes_on_after_an_event_that_was_erased(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    await store.note_erasures([erasure_of(erasure(at=0), START)])
    margin = ERASURE_MARGIN / SECOND
    said = [("ok", -1), ("ok", margin), ("ok", margin + 1), ("not_ok", margin + 2)]
    events = [explicit(reaction, at=at, event=f"x{number}") for number, (reaction, at) in enumerate(said)]
    assert await handler.handle(batch(*events)) == [
        Outcome.ignored("erased"),
        Outcome.ignored("erased"),
        Outcome.STORED,
        Outcome.STORED,
    ]
    assert len([one for one in log.sent if one.value]) == 1


class LosesOnce:
    """Store in which another process writes first, at the first save."""

    def __init__(self, store: MemoryStore, other: FeedbackHandler, word: Any) -> None:
        self._store, self._other, self._word = store, other, word

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def save(self, *arguments: Any) -> Saved:
        if self._word is not None:
            word, self._word = self._word, None
            await self._other.handle(batch(word))
        return await self._store.save(*arguments)


@pytest.mark.parametrize(
    ("theirs", "ours", "outcome", "shown"),
    [
        (explicit("ok", at=1), explicit("ok", at=1), Outcome.UNCHANGED, "ok"),
        (explicit("not_ok", at=2, event="x2"), explicit("ok", at=1), Outcome.ignored("superseded"), "not_ok"),
        (explicit("not_ok", at=1, event="x2"), explicit("ok", at=2), Outcome.STORED, "ok"),
    ],
    ids=["the same", "a newer one", "an older one"],
)
async def test_a_change_that_loses_to_another_writer_is_merged_with_what_won(
    store: MemoryStore,
    handler: FeedbackHandler,
    log: RecordingProducer,
    theirs: FeedbackExplicitReceived,
    ours: FeedbackExplicitReceived,
    outcome: Outcome,
    shown: str,
) -> None:
    slow = FeedbackHandler(LosesOnce(store, handler, theirs), log, DEFAULT_REWARDS)
    assert await slow.handle(batch(ours)) == [outcome]
    assert json.loads(log.sent[-1].value or b"")["reaction"] == shown
    (record,) = (await store.load([key().feedback_id])).values()
    assert record.current_entry.payload.reaction == shown


async def test_an_uncertain_batch_is_announced_as_it_stands_and_not_merged_again(
    store: MemoryStore, handler: FeedbackHandler, log: RecordingProducer
) -> None:
    said = batch(explicit("ok"))
    await handler.handle(said)
    await handler.handle(batch(explicit("not_ok", at=5, event="x2")))
    log.sent.clear()
    await handler.commit_lost(batch(explicit("ok"), explicit("neutral", at=9, event="never handled")))
    assert [json.loads(message.value or b"")["reaction"] for message in log.sent] == ["not_ok"]


async def test_a_project_may_have_a_table_of_its_own(store: MemoryStore, log: RecordingProducer) -> None:
    handler = FeedbackHandler(store, log, DEFAULT_REWARDS, {("acme", "support"): {"🤔": 0.9}})
    ours, theirs = reaction("🤔", event="r1"), reaction("🤔", event="r2").model_copy(update={"project": "sales"})
    assert await handler.handle(batch(ours, theirs)) == [Outcome.STORED, Outcome.ignored("unmapped_emoji")]


# Any order, repetition and batching of events gives the same stored and announced feedback.

USERS = st.sampled_from(["ann", "bob"])


TIMES = st.integers(0, 4).map(lambda n: n * 400)
"""Seconds, further apart than the five minutes that an erasure covers after its time, with many ties."""


SEQUENCES = st.sampled_from([None, 0, 1])


@st.composite
def events(draw: st.DrawFn) -> list[Received[Any]]:
    """Generate up to ten events, some of them erasures, each with its own id, logged at its own time or later."""
    found = []
    for n in range(draw(st.integers(1, 10))):
        at, user = draw(TIMES), draw(USERS)
        common: dict[str, Any] = {"sequence": draw(SEQUENCES), "event": f"e{n}"}
        match draw(st.sampled_from(["reaction", "explicit", "rating", "reply", "inferred", "reaction", "erasure"])):
            case "reaction":
                emoji, action = draw(st.sampled_from("👍👎❤")), draw(st.sampled_from(["added", "removed"]))
                event = reaction(emoji, action, at=at, reaction_user_id=user, **common)
            case "explicit":
                verdict = draw(st.sampled_from(["ok", "not_ok", "neutral", None]))
                event = explicit(verdict, at=at, user_id=user, text=draw(st.sampled_from(["a", None])), **common)
            case "rating":
                rating = draw(st.sampled_from([1, 3, 5, None]))
                ends: dict[str, Any] = {} if rating is None else {"rating": rating, "worst_rating": 1, "best_rating": 5}
                verdict = None if rating is None else "neutral"
                event = explicit(verdict, at=at, user_id=user, **ends, **common)
            case "reply":
                event = reply(at=at, reply_sender_id=user, **common)
            case "inferred":
                # All judgements of a message have the message's time.
                look, message = draw(st.integers(1, 3)), draw(st.integers(0, 4))
                event = inferred(
                    draw(st.sampled_from(["rejected", "accepted", None])),
                    at=message * 400,
                    user_id=user,
                    evaluation=look,
                    detected_in_message_id=f"m{message}",
                    turn_id=draw(st.sampled_from(["t1", "t2"])),
                    **common,
                )
            case _:
                event = erasure(user, at=at, request=f"e{n}")
        said = (event.occurred_at - START) / SECOND
        found.append(received(event, logged=said + draw(st.sampled_from([0, 1, 5_000])), offset=n))
    return found


@st.composite
def histories(draw: st.DrawFn, given_: list[Received[Any]]) -> list[list[Received[Any]]]:
    """Generate the events in any order, any of them any number of times, split into batches anywhere."""
    again = draw(st.lists(st.sampled_from(given_), max_size=5))
    shuffled = draw(st.permutations([*given_, *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(shuffled) - 1), max_size=4))) if len(shuffled) > 1 else []
    return [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]


async def stored(store: Store) -> dict[UUID, dict[str, Entry]]:
    return {one.feedback_id: dict(one.slots) async for page in store.scan() for one in page}


async def run(history: Sequence[Sequence[Received[Any]]]) -> tuple[MemoryStore, RecordingProducer]:
    store, log = MemoryStore(), RecordingProducer()
    handler = FeedbackHandler(store, log, DEFAULT_REWARDS)
    for part in history:
        assert len(await handler.handle(part)) == len(part)
    return store, log


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_every_history_ends_in_the_same_state(data: st.DataObject) -> None:
    records = data.draw(events())
    one, _ = asyncio.run(run([records]))
    other, _ = asyncio.run(run(data.draw(histories(records))))
    assert asyncio.run(stored(one)) == asyncio.run(stored(other))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_the_last_announcement_of_each_feedback_is_what_is_stored(data: st.DataObject) -> None:
    store, log = asyncio.run(run(data.draw(histories(data.draw(events())))))
    held = {str(record.feedback_id): message_of(record).value for record in store._records.values()}
    assert {key: held.get(str(key)) for key in log.last} == log.last
    assert set(held) <= set(log.last)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_one_revision_is_one_announcement_and_revisions_only_grow(data: st.DataObject) -> None:
    _, log = asyncio.run(run(data.draw(histories(data.draw(events())))))
    said: defaultdict[str | None, list[tuple[int, bytes]]] = defaultdict(list)
    for message in log.sent:
        if message.value is not None:
            said[message.key].append((json.loads(message.value)["revision"], message.value))
    for announced in said.values():
        assert [revision for revision, _ in announced] == sorted(revision for revision, _ in announced)
        assert len({revision for revision, _ in announced}) == len(set(announced))


class Yielding:
    """Store or producer behind a connection on which others get their turn before and after every call."""

    def __init__(self, inner: Any, rng: Random) -> None:
        self._inner, self._rng = inner, rng

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name.startswith("scan"):
            return method

        async def call(*arguments: Any) -> Any:
            await self._turns()
            answer = await method(*arguments)
            await self._turns()
            return answer

        return call

    async def _turns(self) -> None:
        for _ in range(self._rng.randrange(4)):
            await asyncio.sleep(0)


@given(st.data(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_racing_consumers_end_in_the_same_state_and_leave_no_text_of_erased_people_in_the_log(
    data: st.DataObject, seed: int
) -> None:
    records = data.draw(events())
    histories_ = [data.draw(histories(records)) for _ in range(2)]

    async def race() -> tuple[MemoryStore, RecordingProducer]:
        rng, store, log = Random(seed), MemoryStore(), RecordingProducer()

        async def consume(history: Sequence[Sequence[Received[Any]]]) -> list[Outcome]:
            handler = FeedbackHandler(Yielding(store, rng), Yielding(log, rng), DEFAULT_REWARDS)
            return [outcome for part in history for outcome in await handler.handle(part)]

        await asyncio.gather(*(consume(history) for history in histories_))
        return store, log

    store, log = asyncio.run(race())
    alone, _ = asyncio.run(run([records]))
    assert asyncio.run(stored(store)) == asyncio.run(stored(alone))
    live = asyncio.run(stored(store))
    assert {key: value for key, value in log.last.items() if UUID(key) not in live and value is not None} == {}
    highest: dict[UUID, int] = defaultdict(int)
    for message in log.sent:
        if message.value is not None:
            id_ = UUID(message.key)
            highest[id_] = max(highest[id_], json.loads(message.value)["revision"])
    assert {id_: highest[id_] for id_ in live} == {id_: store._records[id_].revision for id_ in live}
