"""Any order, repetition and batching of events gives the same stored and announced feedback."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.announce import message_of
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.model import Entry
from feedback.store import Store
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from tests.support.feedback_events import (
    SECOND,
    START,
    RecordingProducer,
    erasure,
    explicit,
    inferred,
    reaction,
    received,
    reply,
)
from tests.support.feedback_memory import MemoryStore

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
                rating, scale = draw(st.sampled_from([1, 3, 5, None])), draw(st.sampled_from([None, "polite", "clear"]))
                ends: dict[str, Any] = {} if rating is None else {"rating": rating, "worst_rating": 1, "best_rating": 5}
                verdict = None if rating is None else "neutral"
                event = explicit(verdict, at=at, user_id=user, scale=scale, **ends, **common)
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


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_taking_everything_in_again_changes_nothing(data: st.DataObject) -> None:
    records = data.draw(events())

    async def twice() -> tuple[Any, Any, Any]:
        store, log = MemoryStore(), RecordingProducer()
        handler = FeedbackHandler(store, log, DEFAULT_REWARDS)
        await handler.handle(records)
        before, last = dict(store._records), log.last
        for event in data.draw(st.permutations(records)):
            await handler.handle([event])
        return before == store._records, last, log.last

    unchanged, first, second = asyncio.run(twice())
    assert unchanged
    assert first == second


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
