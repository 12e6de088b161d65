"""After an edit only the messages that it may affect are judged again, with the same result as judging everything."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackInferredReceived
from contracts.message_fields import MessageKey
from detector.detector import Detector
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Role, Verdict
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.model import ConversationKey, IndexedMessage, Scope
from proofs.oracle import neighbourhoods
from proofs.simulation.stub_detector import StubDetector, judge
from servicekit.log.records import Message as Record
from servicekit.log.records import Written
from tests.support.inference_memory import MemoryConversationStore
from tests.support.reporting_events import batch, message


class CountingStore(MemoryConversationStore):
    """Store that counts the messages that are read around places."""

    read = 0

    async def around(self, keys: Collection[MessageKey], after: int) -> Mapping[Scope, Sequence[IndexedMessage]]:
        found = await super().around(keys, after)
        self.read += sum(map(len, found.values()))
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
        self.handler = ConversationHandler(self.store, Judging(self.store, self.ledger, detector))

    def take(self, *events: ChatMessageIngested) -> None:
        asyncio.run(self._take(events))

    async def _take(self, events: Sequence[ChatMessageIngested]) -> None:
        await self.handler.handle(batch(*events))


def said(number: int, at: int, text: str = "hi") -> ChatMessageIngested:
    return message(f"m{number:05}", content=text, agent="bot" if number % 2 else None, turn=None, at=at)


@settings(max_examples=60, deadline=None)
@given(instants=st.lists(st.integers(0, 12), min_size=1, max_size=60), order=st.randoms(use_true_random=False))
def test_messages_of_one_instant_are_in_the_order_of_their_sequences(instants: list[int], order: random.Random) -> None:
    events = [said(number, at).model_copy(update={"sequence": number}) for number, at in enumerate(instants)]
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
        bench = ConversationHandler(store, Judging(store, Ledger(), detector))
        await bench.handle(batch(*events))
        where = ConversationKey(events[0].tenant, events[0].project, events[0].conversation_id)
        return [one.message for one in await store.before(Scope(where, ""), b"\xff", 10**6)]

    messages = asyncio.run(ordered())
    found: dict[str, tuple[str, str]] = {}
    for neighbourhood in neighbourhoods(messages):
        one, verdict = neighbourhood.message, judge(neighbourhood)
        if one.role == "human" and verdict.emitted and verdict.target:
            found[one.message_id] = (verdict.feedback, verdict.target.turn_id)
    return found


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
    assert bench.store.read <= 2 * NEIGHBOURHOOD + 1
    assert bench.ledger.live() == expected([*events, edit])


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(1, 90),
    edits=st.lists(st.tuples(st.integers(0, 89), st.integers(100, 120)), max_size=8),
    order=st.integers(0, 2**32),
)
def test_in_any_order_the_verdicts_end_as_if_all_were_judged(
    length: int, edits: list[tuple[int, int]], order: int
) -> None:
    """Messages arrive in any order; the versions of a message, which share a partition, in that of the log."""
    rng = random.Random(order)
    events = [said(number, number) for number in range(length)]
    rng.shuffle(events)
    edited = [
        # Of versions of one time, the sequence decides.
        said(number, at, f"version {at}").model_copy(update={"sequence": sequence})
        for sequence, (number, at) in enumerate(edits)
        if number < length
    ]
    wanted = expected([*events, *edited])
    events += edited
    bench = Bench()
    while events:
        size = rng.randint(1, 10)
        bench.take(*events[:size])
        events = events[size:]
    assert bench.ledger.live() == wanted


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
    edit = events.pop()
    rng.shuffle(events)
    events.append(edit)
    bench = Bench()
    while events:
        size = rng.randint(1, 10)
        bench.take(*events[:size])
        events = events[size:]
    assert bench.ledger.live() == wanted


# For any text, a verdict is valid, depends on the neighbourhood only, and takes a limited time.

MINUTE = 60_000_000


PHRASES = [
    "that's wrong", "thanks", "no, I meant", "never mind", "what about", "```x = 1```", "<div>hi</div>", "🙂", "不对",
    "danke", "?", "https://a.example", "> quoted", "I'll take it", "Привет", "שלום", "\u202e", "\x00", "\ud83d",
]  # fmt: skip


texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PHRASES), max_size=6).map(" ".join))


times = st.integers(min_value=-(10**16), max_value=10**16)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.default()


@st.composite
def messages(draw: st.DrawFn, role: Role | None = None) -> Message:
    roles: tuple[Role, ...] = ("human", "agent")
    chosen = draw(st.sampled_from(roles)) if role is None else role
    number = draw(st.integers(0, 10**6))
    agent = "bot" if chosen == "agent" else None
    return Message(f"m{number}", f"t{number}", "who", chosen, agent, draw(texts), draw(times))


items = st.builds(
    Neighbourhood, st.lists(messages(), max_size=NEIGHBOURHOOD).map(tuple), messages("human")
)  # fmt: skip


def well_formed(item: Neighbourhood, verdict: Verdict) -> bool:
    agents = {m.message_id for m in item.before if m.role == "agent"}
    return (
        0 <= verdict.confidence <= 1
        and (verdict.correction_type is None) == (verdict.feedback != "rejected")
        and (verdict.target is None or verdict.target.message_id in agents)
        and (not verdict.emitted or verdict.reaction is not None)
        and (verdict.reaction == "not_ok") == (verdict.feedback == "rejected")
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batch=st.lists(items, max_size=4))
def test_any_batch_gives_well_formed_verdicts_the_same_alone_and_together(
    detector: Detector, batch: list[Neighbourhood]
) -> None:
    together = detector.judge(batch)
    assert all(well_formed(item, verdict) for item, verdict in zip(batch, together, strict=True))
    assert together == [detector.judge([item])[0] for item in batch]
    assert together[::-1] == detector.judge(batch[::-1])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(item=items, older=st.lists(messages(), min_size=1, max_size=5))
def test_messages_before_the_neighbourhood_never_matter(
    detector: Detector, item: Neighbourhood, older: list[Message]
) -> None:
    filler = tuple(
        Message(f"f{n}", f"f{n}", "bot", "agent", "bot", f"filler {n}", 0)
        for n in range(NEIGHBOURHOOD - len(item.before))
    )
    full = Neighbourhood(filler + item.before, item.message)
    longer = Neighbourhood(tuple(older) + full.before, item.message)
    assert detector.judge([full]) == detector.judge([longer])


HUGE = [
    "no " * 33_000,
    "that's wrong " * 8_000,
    "a" * 100_000,
    "```" + "x = 1\n" * 20_000,
    "<b>" * 33_000,
    "不对" * 50_000,
    "🙂" * 100_000,
    ("what do you mean, " * 6_000),
    "\n> " * 33_000,
    "ab ¿ не שלום 你好 " * 6_000,
]


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
def test_a_hundred_kilobytes_are_judged_in_well_under_a_second(detector: Detector, text: str) -> None:
    before = (
        Message("a", "a", "ann", "human", None, text, 0),
        Message("b", "a", "bot", "agent", "bot", text[::-1], MINUTE),
    )
    started = time.process_time()
    verdict = detector.judge([Neighbourhood(before, Message("c", "c", "ann", "human", None, text, 2 * MINUTE))])[0]
    assert time.process_time() - started < 0.5
    assert len(verdict.user_said) <= 10_000
