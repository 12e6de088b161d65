"""Prompt to a language model, and the verdict read from its answer."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_completions.completion import WrongAnswer
from chat_completions.endpoint import EndpointFailed, LlmEndpoint
from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackInferredReceived
from detector.detector import Detector
from detector.model import GateCall, Message, Neighbourhood, Target, Verdict
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.llm_gate.answer import LlmAnswer, Reason, answer_in, apply_answer
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate
from inference.llm_gate.question import LlmQuestion, question
from inference.model import ConversationKey
from inference.turns.store import TurnIndex
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.clock import SystemClock
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.inference_memory import MemoryConversationStore, MemoryGateAnswers
from tests.support.llm_server import ACCEPTED, NEUTRAL, REJECTED

HERE = ConversationKey("acme", "support", "c1")


TARGET = Target("t1", "a1", "bot", 0.5, 0.4, 1.0, 1)


SCORES = {"accepted": 0.8}


BASE = Verdict("accepted", "ok", 0.8, None, "so", TARGET, ("learned.x",), "learned", "neutral", SCORES, settled=False)


def said(number: int, text: str, *, agent: bool = False) -> Message:
    name = f"m{number}"
    return Message(name, name, "bot" if agent else "ann", "agent" if agent else "human", "bot", text, number)


def asked(texts: Sequence[str], message: str = "hm", where: ConversationKey = HERE, model: str = "m") -> LlmQuestion:
    """Return the question about a message after alternating texts of a person and an agent."""
    before = tuple(said(number, text, agent=number % 2 == 1) for number, text in enumerate(texts))
    return question(model, where, Neighbourhood(before, said(99, message)))


def document(asked: LlmQuestion) -> Any:
    return json.loads(json.loads(asked.body)["messages"][1]["content"])


def test_the_latest_turns_are_shown_with_the_answers_numbered() -> None:
    one = asked(["q0", "a1", "q2", "a3", "q4", "a5", "q6", "a7"], "no")
    assert document(one) == {
        "conversation": [
            {"person": "q2"},
            {"answer": 1, "text": "a3"},
            {"person": "q4"},
            {"answer": 2, "text": "a5"},
            {"person": "q6"},
            {"answer": 3, "text": "a7"},
        ],
        "message": "no",
    }
    assert one.numbered == ("m3", "m5", "m7")


def test_the_answer_is_shown_however_much_was_said_since() -> None:
    before = (said(1, "the answer", agent=True), *(said(number, "and") for number in range(2, 12)))
    one = question("m", HERE, Neighbourhood(before, said(99, "no")))
    assert one.numbered == ("m1",)
    assert document(one)["conversation"][0] == {"answer": 1, "text": "the answer"}


def test_long_texts_are_cut() -> None:
    one = asked(["x" * 200_000] * 24, "y" * 200_000)
    assert len(one.body) < 20_000


@pytest.mark.parametrize(
    "other",
    [
        asked(["q", "a"], "yes"),
        asked(["q", "b"], "no"),
        asked(["q", "a"], "no", model="n"),
        asked(["q", "a"], "no", ConversationKey("acme", "support", "c2")),
        asked(["q", "a"], "no", ConversationKey("globex", "support", "c1")),
        asked(["q", "a"], "no", ConversationKey("acme", "supportc", "1")),
    ],
)
def test_another_question_has_another_digest(other: LlmQuestion) -> None:
    assert asked(["q", "a"], "no") == asked(["q", "a"], "no")
    assert other.digest != asked(["q", "a"], "no").digest


@given(st.lists(st.text(), max_size=4), st.text())
def test_whatever_people_write_stays_a_text_in_the_request(texts: list[str], message: str) -> None:
    shown = document(asked(texts, message))
    assert shown["message"] == message
    assert [one.get("text", one.get("person")) for one in shown["conversation"]] == texts


def answer(reaction: GateCall, reason: Reason, *, is_feedback: bool = True) -> LlmAnswer:
    return LlmAnswer(is_feedback=is_feedback, reaction=reaction, confidence=0.75, about=None, reason=reason)


@pytest.mark.parametrize(
    ("given_answer", "feedback", "kind", "gate"),
    [
        (answer("not_ok", "explicit"), "rejected", "explicit", "not_ok"),
        (answer("not_ok", "rephrased"), "rejected", "rephrased", "not_ok"),
        (answer("not_ok", "abandonment"), "rejected", "abandonment", "not_ok"),
        (answer("not_ok", "none"), "rejected", "explicit", "not_ok"),
        (answer("ok", "thanks"), "accepted", None, "ok"),
        (answer("ok", "continuation"), "accepted", None, "neutral"),
        (answer("ok", "explicit"), "accepted", None, "ok"),
        (answer("neutral", "explicit"), "neutral", None, "neutral"),
        (answer("not_ok", "explicit", is_feedback=False), "neutral", None, "neutral"),
    ],
)
def test_the_verdict_of_an_answer(given_answer: LlmAnswer, feedback: str, kind: str | None, gate: str) -> None:
    verdict = apply_answer(BASE, given_answer, TARGET)
    assert (verdict.feedback, verdict.correction_type, verdict.gate) == (feedback, kind, gate)
    assert (verdict.decided_by, verdict.rules) == ("llm", (f"llm.{given_answer.reason}",))
    assert (verdict.confidence, verdict.scores, verdict.user_said) == (0.75, {"accepted": 0.8}, "so")
    assert (verdict.target is None) == (verdict.reaction is None) == (feedback == "neutral")
    assert verdict.emitted == (gate != "neutral")


def test_a_new_topic_sets_the_status_that_it_did_unless_it_is_feedback() -> None:
    topic = Verdict("accepted", None, 0.5, None, "so", TARGET, (), "rules", "neutral", status_only=True, settled=False)
    assert apply_answer(topic, answer("neutral", "none"), None) == topic
    assert apply_answer(topic, answer("not_ok", "explicit"), TARGET).emitted


# Every response of a language model is a valid answer or is rejected; the examples reach every rejection.

SOUND = {
    "is_feedback": st.booleans(),
    "reaction": st.sampled_from(["ok", "not_ok", "neutral"]),
    "confidence": st.floats(0, 1),
    "about": st.none() | st.integers(1, 4),
    "reason": st.sampled_from(["explicit", "rephrased", "abandonment", "thanks", "continuation", "none"]),
}


JUNK: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([]) | st.just({})
)


def _completion(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    """Generate the body of a completion, mostly almost valid, and the number of answers shown."""
    shown = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["sound", "one field wrong", "field missing", "field too many", "no answer", "bytes"]))
    if kind == "bytes":
        return draw(st.binary(max_size=40)), shown
    if kind == "no answer":
        return json.dumps(draw(JUNK | st.just({"choices": []}))).encode(), shown
    answer: dict[str, Any] = {name: draw(values) for name, values in SOUND.items()}
    name = draw(st.sampled_from(sorted(SOUND)))
    if kind == "one field wrong":
        answer[name] = draw(JUNK)
    elif kind == "field missing":
        del answer[name]
    elif kind == "field too many":
        answer["more"] = draw(JUNK)
    return _completion(json.dumps(answer)), shown


def outcome(case: tuple[bytes, int]) -> LlmAnswer | str:
    body, shown = case
    try:
        return answer_in(body, shown)
    except WrongAnswer as error:
        return str(error)


@given(bodies())
@settings(max_examples=300)
def test_whatever_comes_back_is_an_answer_in_its_bounds_or_wrong(case: tuple[bytes, int]) -> None:
    found = outcome(case)
    if isinstance(found, LlmAnswer):
        assert 0 <= found.confidence <= 1
        assert found.about is None or 1 <= found.about <= case[1]


# One verdict per neighbourhood, for any order of arrival and any behaviour of a language model.

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


class Model(LlmEndpoint):
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


class NoTurns(TurnIndex):
    """Turn index that stores nothing."""

    def __init__(self) -> None: ...

    async def take(self, facts: Any, judged: Any, detector: Any) -> dict[Any, Any]:
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
        self._handler = ConversationHandler(self.store, Judging(NoTurns(), self.log, self._detector, gate))

    async def take(self, events: Sequence[ChatMessageIngested]) -> None:
        raw = RawRecord(Coordinates("chat.message.ingested", 0, 0), None, b"", (), 0)
        await self._handler.handle([Received(one, raw) for one in events])


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.default()


steps = st.lists(
    st.one_of(
        st.sampled_from(MOODS), st.just("restart"), st.lists(st.sampled_from(EVENTS + EDITS), min_size=1, max_size=4)
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
