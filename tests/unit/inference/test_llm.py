"""Prompt to a language model, and the verdict read from its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.model import GateCall, Message, Neighbourhood, Target, Verdict
from inference.llm_gate.answer import LlmAnswer, Reason, apply_answer
from inference.llm_gate.question import LlmQuestion, question
from inference.store import ConversationKey

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
