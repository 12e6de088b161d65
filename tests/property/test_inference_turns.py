"""Any order and batching of messages and their versions gives the same turns."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.chat import ChatMessageIngested
from detector.model import Verdict
from inference.handlers import ConversationHandler
from inference.store import Placed
from inference.turns.facts import Facts
from inference.turns.rules import TurnKey
from proofs.simulation.stub_detector import StubDetector
from servicekit.log.messages import Written
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.inference_memory import MemoryConversationStore


class JoinedTurns:
    """Index that joins the facts of each turn."""

    def __init__(self) -> None:
        self.held: dict[TurnKey, Facts] = {}

    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]], detector: str = ""
    ) -> Mapping[Any, Any]:
        for one in facts:
            self.held[one.key] = self.held[one.key].joined(one) if one.key in self.held else one
        return {}

    def shown(self) -> dict[TurnKey, Any]:
        """Return the state of the turns. An evaluation is reduced to its presence, since it counts lookups."""
        return {
            key: replace(
                one, question=replace(one.question, version=b"") if one.question and one.question.text else None
            )
            for key, one in self.held.items()
        }


class Discarding:
    async def send(self, messages: Sequence[Any]) -> list[Written]:
        return []


def version(name: str, agent: bool, at: int) -> ChatMessageIngested:
    return ChatMessageIngested(
        event_id=f"{name}-{at}",
        occurred_at=at,
        tenant="acme",
        project="p",
        conversation_id="c",
        message_id=name,
        sender_id="bot" if agent else "ann",
        sender_type="agent" if agent else "human",
        agent_id="bot" if agent else None,
        content=f"{name} at {at}",
    )


def arrived(events: Sequence[ChatMessageIngested], cuts: random.Random) -> dict[TurnKey, Any]:
    turns = JoinedTurns()
    detector: Any = StubDetector()
    handler = ConversationHandler(MemoryConversationStore(), turns, Discarding(), detector)
    rest = list(events)
    while rest:
        size = cuts.randint(1, 12)
        batch, rest = rest[:size], rest[size:]
        records = [Received(event, RawRecord(Coordinates("t", 0, 0), None, None, (), 0)) for event in batch]
        asyncio.run(_handle(handler, records))
    return turns.shown()


async def _handle(handler: ConversationHandler, records: Sequence[Received[Any]]) -> None:
    await handler.handle(records)


times = st.integers(0, 99)


@settings(max_examples=200, deadline=None)
@given(
    answers=st.integers(1, 45),
    questions=st.lists(times, max_size=4),
    again=st.lists(st.tuples(st.integers(0, 48), times), max_size=6),
    orders=st.integers(0, 2**32),
)
def test_any_arrival_ends_in_the_same_turns(
    answers: int, questions: list[int], again: list[tuple[int, int]], orders: int
) -> None:
    """Many answers belong to few questions, some of them far away; some messages have several versions."""
    first = [(True, 2 * n + 1) for n in range(answers)] + [(False, at) for at in questions]
    versions = [(n, agent, at) for n, (agent, at) in enumerate(first)]
    versions += [(n, first[n][0], at) for n, at in again if n < len(first)]
    events = [version(f"m{n}", agent, at) for n, agent, at in dict.fromkeys(versions)]
    shuffled = random.Random(orders)
    expected = arrived(events, shuffled)
    for _ in range(3):
        shuffled.shuffle(events)
        assert arrived(events, shuffled) == expected
