"""After an edit only the messages that it may affect are judged again, with the same result as judging everything."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackInferredReceived
from detector.model import NEIGHBOURHOOD, Neighbourhood, Verdict
from inference.handlers import ConversationHandler
from inference.neighbours import REACH
from inference.store import ConversationKey, Place, Placed
from proofs.neighbourhoods import neighbourhoods
from proofs.simulation.stub_detector import StubDetector, judge
from proofs.simulation.stub_turns import StubTurns
from servicekit.log.messages import Message as Record
from servicekit.log.messages import Written
from tests.support.inference_memory import MemoryConversationStore
from tests.support.reporting_events import batch, message


class CountingStore(MemoryConversationStore):
    """Store that counts the messages that are read around places."""

    read = 0

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        found = await super().around(places, reach)
        self.read += sum(map(len, found))
        return found


class CountingDetector(StubDetector):
    judged = 0

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        self.judged += len(items)
        return super().judge(items)


class Ledger:
    """The verdict of each message with the highest evaluation."""

    def __init__(self) -> None:
        self.held: dict[str, FeedbackInferredReceived] = {}

    async def send(self, messages: Sequence[Record]) -> list[Written]:
        for one in messages:
            event = FeedbackInferredReceived.model_validate_json(one.value or b"")
            held = self.held.get(event.detected_in_message_id)
            if held is None or event.evaluation >= held.evaluation:
                self.held[event.detected_in_message_id] = event
        return []

    def live(self) -> dict[str, tuple[str, str]]:
        return {name: (one.verdict, one.turn_id) for name, one in self.held.items() if one.verdict is not None}


class Bench:
    def __init__(self) -> None:
        self.store, self.ledger = CountingStore(), Ledger()
        detector: Any = CountingDetector()
        self.detector = detector
        self.handler = ConversationHandler(self.store, StubTurns(), self.ledger, detector)

    def take(self, *events: ChatMessageIngested) -> None:
        asyncio.run(self._take(events))

    async def _take(self, events: Sequence[ChatMessageIngested]) -> None:
        await self.handler.handle(batch(*events))


def said(number: int, at: int, text: str = "hi") -> ChatMessageIngested:
    return message(f"m{number:05}", content=text, agent="bot" if number % 2 else None, turn=None, at=at)


@settings(max_examples=60, deadline=None)
@given(
    said_at=st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 8)), min_size=1, max_size=60),
    order=st.randoms(use_true_random=False),
)
def test_messages_of_one_instant_end_as_if_all_were_judged(
    said_at: list[tuple[int, int]], order: random.Random
) -> None:
    events = [
        said(number, at).model_copy(update={"reply_to_message_id": None if reply < 0 else f"m{reply:05}"})
        for number, (at, reply) in enumerate(said_at)
    ]
    wanted = expected(events)
    order.shuffle(events)
    bench = Bench()
    while events:
        size = order.randint(1, 10)
        bench.take(*events[:size])
        events = events[size:]
    assert bench.ledger.live() == wanted


def threaded(number: int, at: int, thread: int | None) -> ChatMessageIngested:
    return said(number, at).model_copy(update={"thread_id": None if thread is None else f"m{thread:05}"})


def expected(events: Sequence[ChatMessageIngested]) -> dict[str, tuple[str, str]]:
    """Return the verdicts on all messages, judged one by one over the whole conversation."""
    store = MemoryConversationStore()

    async def ordered() -> list[Any]:
        detector: Any = StubDetector()
        bench = ConversationHandler(store, StubTurns(), Ledger(), detector)
        await bench.handle(batch(*events))
        [rows] = await store.around([Place(rows_key(events[0]), 0, "")], 10**6)
        return [placed.indexed.message for placed in rows]

    messages = asyncio.run(ordered())
    found: dict[str, tuple[str, str]] = {}
    for neighbourhood in neighbourhoods(messages):
        one, verdict = neighbourhood.message, judge(neighbourhood)
        if one.role == "human" and verdict.emitted and verdict.target:
            found[one.message_id] = (verdict.feedback, verdict.target.turn_id)
    return found


def rows_key(event: ChatMessageIngested) -> Any:
    return ConversationKey(event.tenant, event.project, event.conversation_id)


@settings(max_examples=100, deadline=None)
@given(length=st.integers(1, 120), data=st.data())
def test_an_edit_has_at_most_a_neighbourhood_judged_again(length: int, data: st.DataObject) -> None:
    bench = Bench()
    events = [said(number, number) for number in range(length)]
    bench.take(*events)
    edited = data.draw(st.integers(0, length - 1))
    bench.detector.judged = bench.store.read = 0
    edit = said(edited, 10_000, "edited")
    bench.take(edit)
    assert bench.detector.judged <= NEIGHBOURHOOD + 1
    assert bench.store.read <= 2 * REACH + 1
    assert bench.ledger.live() == expected([*events, edit])


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(1, 90),
    again=st.lists(st.tuples(st.integers(0, 89), st.integers(0, 120)), max_size=8),
    order=st.integers(0, 2**32),
)
def test_whatever_moves_about_the_verdicts_end_as_if_all_were_judged(
    length: int, again: list[tuple[int, int]], order: int
) -> None:
    """Versions arrive in any order, so messages move to earlier places, away from where they were first read."""
    rng = random.Random(order)
    events = [said(number, number) for number in range(length)]
    events += [
        # Of versions of one time, the sequence decides, not the order of arrival.
        said(number, at, f"version {at}").model_copy(update={"sequence": sequence})
        for sequence, (number, at) in enumerate(again)
        if number < length
    ]
    wanted = expected(events)
    rng.shuffle(events)
    bench = Bench()
    while events:
        size = rng.randint(1, 10)
        bench.take(*events[:size])
        events = events[size:]
    assert bench.ledger.live() == wanted


@settings(max_examples=60, deadline=None)
@given(moved=st.integers(0, 40), steps=st.lists(st.integers(0, 100), min_size=1, max_size=4))
def test_where_a_message_stood_before_it_moved_is_judged_again(moved: int, steps: list[int]) -> None:
    """A message arrives last, version by version, each with its own time; the earliest is known only at the end."""
    others = [said(number, number) for number in range(100) if number != moved]
    versions = [said(moved, at, f"version {at}") for at in steps]
    bench = Bench()
    bench.take(*others)
    for one in versions:
        bench.take(one)
    assert bench.ledger.live() == expected([*others, *versions])


def test_an_edit_in_a_conversation_of_2_000_messages_reads_two_neighbourhoods() -> None:
    bench = Bench()
    bench.take(*(said(number, number) for number in range(2_000)))
    bench.detector.judged = bench.store.read = 0
    bench.take(said(10, 3_000, "edited"), said(2_000, 2_000))
    assert bench.store.read <= 2 * (2 * REACH + 1)
    assert bench.detector.judged <= NEIGHBOURHOOD + 2


@settings(max_examples=60, deadline=None)
@given(
    threads=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=60),
    edited=st.integers(0, 59),
    order=st.integers(0, 2**32),
)
def test_threads_end_in_the_verdicts_that_each_would_have_alone(
    threads: list[int | None], edited: int, order: int
) -> None:
    rng = random.Random(order)
    events = [threaded(number, number, thread if thread != number else None) for number, thread in enumerate(threads)]
    number = edited % len(events)
    events.append(events[number].model_copy(update={"occurred_at": 10_000, "content": "edited"}))
    wanted: dict[str, tuple[str, str]] = {}
    for thread in {event.thread_id for event in events}:
        own = [one for one in events if one.thread_id == thread or one.message_id == thread]
        found = expected([one.model_copy(update={"thread_id": None}) for one in own])
        inside = {one.message_id for one in own if one.thread_id == thread}
        wanted |= {name: verdict for name, verdict in found.items() if name in inside}
    rng.shuffle(events)
    bench = Bench()
    while events:
        size = rng.randint(1, 10)
        bench.take(*events[:size])
        events = events[size:]
    assert bench.ledger.live() == wanted
