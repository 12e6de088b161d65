"""One verdict per neighbourhood, for any order of arrival and any behaviour of a language model."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_completions.endpoint import EndpointFailed
from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackInferredReceived
from detector.detector import Detector
from inference.handlers import ConversationHandler
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import SystemClock
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.gate_memory import MemoryGateAnswers
from tests.support.inference_memory import MemoryConversationStore
from tests.support.llm_server import ACCEPTED, NEUTRAL, REJECTED

TEXTS = (
    *("When does it open?", "At nine.", "Odd, a friend said otherwise.", "Bus twelve.", "Hm.", "Then we walk."),
    *("It is far.", "That's wrong.", "I see.", "My dog likes museums."),
)
MOODS = ("steady", "down", "contrary")


def event(place: int, text: str, at: int) -> ChatMessageIngested:
    agent = place % 2 == 1
    return ChatMessageIngested(
        event_id=f"e{place}-{at}",
        occurred_at=at,
        tenant="acme",
        project="p",
        conversation_id="c1",
        message_id=f"m{place}",
        sender_id="bot" if agent else "ann",
        sender_type="agent" if agent else "human",
        agent_id="bot" if agent else None,
        content=text,
    )


EVENTS = [event(place, text, place) for place, text in enumerate(TEXTS)]
EDITS = [event(2, "Odd, it said otherwise elsewhere.", 20), event(3, "Bus thirteen.", 21)]


class Model:
    """Language model: steady (answers depend on the question), down (fails), or contrary (changes its answers)."""

    def __init__(self) -> None:
        self.mood = "steady"
        self.asked = 0

    async def complete(self, body: bytes) -> bytes:
        self.asked += 1
        if self.mood == "down":
            raise EndpointFailed
        turn = self.asked if self.mood == "contrary" else zlib.crc32(body)
        content = json.dumps((REJECTED, ACCEPTED, NEUTRAL)[turn % 3])
        return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


class NoTurns:
    """Intake of turns that stores nothing."""

    async def take(self, facts: Any, judged: Any, detector: str = "") -> dict[Any, Any]:
        return {}


class Log:
    """Log that keeps all announcements."""

    def __init__(self) -> None:
        self.found: list[FeedbackInferredReceived] = []

    async def send(self, messages: Sequence[Any]) -> list[Any]:
        self.found += [FeedbackInferredReceived.model_validate_json(one.value) for one in messages]
        return []

    def final(self) -> dict[str, Any]:
        """Return the verdict on each message at its highest evaluation, the last one written; omit retracted ones."""
        best: dict[str, FeedbackInferredReceived] = {}
        for one in self.found:
            held = best.get(one.detected_in_message_id)
            if held is None or one.evaluation >= held.evaluation:
                best[one.detected_in_message_id] = one
        kept = {"verdict", "turn_id", "confidence", "decided_by", "rules", "correction_type", "target"}
        return {name: one.model_dump(include=kept) for name, one in best.items() if one.verdict is not None}


class History:
    """One database and one log, over any number of processes."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.store, self.answers, self.model, self.log = MemoryConversationStore(), MemoryGateAnswers(), Model(), Log()
        self.restart()

    def restart(self) -> None:
        asking = Asking(self.model, SystemClock(), seconds=20, at_once=4, circuit=CircuitBreaker(2, 0))
        gate = LlmGate(asking, self.answers, self._detector, model="m", seconds=30)
        self._handler = ConversationHandler(self.store, NoTurns(), self.log, self._detector, gate)

    async def take(self, events: Sequence[ChatMessageIngested]) -> None:
        raw = RawRecord(Coordinates("chat.message.ingested", 0, 0), None, b"", (), 0)
        await self._handler.handle([Received(one, raw) for one in events])


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.default()


steps = st.lists(
    st.one_of(
        st.sampled_from(MOODS),
        st.just("restart"),
        st.lists(st.sampled_from(EVENTS + EDITS), min_size=1, max_size=4),
    ),
    max_size=12,
)
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(steps=steps, last=st.permutations(EVENTS + EDITS), after=steps)
def test_once_announced_it_stays_whatever_the_model_says_later(
    detector: Detector, steps: list[Any], last: list[Any], after: list[Any]
) -> None:
    async def run() -> None:
        history = History(detector)

        async def do(steps: Sequence[Any]) -> None:
            for step in steps:
                if isinstance(step, list):
                    await history.take(step)
                elif step == "restart":
                    history.restart()
                else:
                    history.model.mood = step

        await do([*steps, last])
        final, asked = history.log.final(), history.model.asked
        await do([*after, "contrary", "restart", last, *([one] for one in last)])
        assert history.log.final() == final
        assert history.model.asked == asked
        seen: dict[str, FeedbackInferredReceived] = {}
        for one in history.log.found:
            assert seen.setdefault(one.event_id, one) == one, "one event id, one content"

    asyncio.run(run())


@relaxed
@given(first=st.permutations(EVENTS + EDITS), second=st.permutations(EVENTS + EDITS), at_once=st.integers(1, 5))
def test_a_steady_model_gives_the_same_in_any_order(
    detector: Detector, first: list[Any], second: list[Any], at_once: int
) -> None:
    async def run(order: list[Any]) -> dict[str, Any]:
        history = History(detector)
        for start in range(0, len(order), at_once):
            await history.take(order[start : start + at_once])
        return history.log.final()

    found = asyncio.run(run(first))
    assert found == asyncio.run(run(second))
    assert any(one["decided_by"] == "llm" for one in found.values())
