"""Verdicts of the whole detector on the answer before a message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from detector.detector import Detector
from detector.model import Message, Neighbourhood, Target, Verdict

MINUTE = 60_000_000


def exchange(message: str, request: str = "", answer: str = "", gap: int = MINUTE) -> Neighbourhood:
    before = [
        Message("m1", "t1", "ann", "human", None, request, 0),
        Message("m2", "t1", "bot", "agent", "bot", answer, MINUTE),
    ]
    shown = tuple(m for m in before if m.text)
    return Neighbourhood(shown, Message("m3", "t2", "ann", "human", None, message, MINUTE + gap))


def judge(detector: Detector, message: str, request: str, answer: str, gap: int = MINUTE) -> Verdict:
    return detector.judge([exchange(message, request, answer, gap)])[0]


REQUEST = "Which year did the bridge open?"
ANSWER = "The bridge opened in 1932."


@pytest.mark.parametrize(
    ("message", "feedback", "kind"),
    [
        ("That's wrong.", "rejected", "explicit"),
        ("No, I meant the railway bridge", "rejected", "explicit"),
        ("this is not what I asked for", "rejected", "explicit"),
        ("Never mind, I'll look elsewhere", "rejected", "abandonment"),
        ("Thanks, that helps a lot!", "accepted", None),
        ("Great, I'll go with that one", "accepted", None),
        ("And how long is it?", "accepted", None),
    ],
)
def test_plain_speech(detector: Detector, message: str, feedback: str, kind: str | None) -> None:
    verdict = judge(detector, message, REQUEST, ANSWER)
    assert (verdict.feedback, verdict.correction_type) == (feedback, kind)
    assert verdict.emitted != message.startswith("And how long"), "a follow-up question is no praise"
    assert verdict.rules
    assert verdict.target is not None
    assert (verdict.target.turn_id, verdict.target.agent_id, verdict.target.turns_back) == ("t1", "bot", 1)


def test_the_same_request_in_other_words(detector: Detector) -> None:
    verdict = judge(
        detector,
        "could you list cheap hotels close to the central station",
        "list cheap hotels near the central station",
        "The central station was built in 1890.",
    )
    assert verdict.feedback == "rejected"
    assert verdict.correction_type == "rephrased"
    assert verdict.emitted


def test_an_explicit_rejection_has_the_constant_of_the_specification(detector: Detector) -> None:
    verdict = judge(detector, "That's wrong.", REQUEST, ANSWER)
    assert (verdict.confidence, verdict.decided_by, verdict.reaction) == (0.9, "rules", "not_ok")


@pytest.mark.parametrize("message", ["", " \n", "🙂🙂", "...", "```\nprint('no')\n```", "<b></b>", "\ud800"])
def test_nothing_said_is_neutral(detector: Detector, message: str) -> None:
    verdict = judge(detector, message, REQUEST, ANSWER)
    assert verdict.feedback == "neutral"
    assert not verdict.emitted


def test_without_an_agent_message_nothing_is_said_about_one(detector: Detector) -> None:
    verdict = detector.judge([exchange("That's wrong.")])[0]
    assert (verdict.feedback, verdict.target, verdict.emitted) == ("neutral", None, False)


def test_after_half_an_hour_only_an_explicit_rejection_still_speaks(detector: Detector) -> None:
    late = 31 * MINUTE
    assert judge(detector, "Thanks, perfect!", REQUEST, ANSWER, late).feedback == "neutral"
    assert judge(detector, "That's wrong.", REQUEST, ANSWER, late).feedback == "rejected"


def test_polite_and_negative_at_once_is_not_announced_as_accepted(detector: Detector) -> None:
    verdict = judge(detector, "Thanks, but that's not what I asked for", REQUEST, ANSWER)
    assert not (verdict.feedback == "accepted" and verdict.emitted)


def test_a_batch_is_judged_as_its_items_would_be_alone(detector: Detector) -> None:
    items = [exchange(m, REQUEST, ANSWER) for m in ("That's wrong.", "thanks", "", "what about the tunnel?")]
    together = detector.judge(items)
    assert together == [detector.judge([item])[0] for item in items]
    assert together == Detector.default().judge(items)
    assert detector.judge([]) == []


@pytest.mark.parametrize(
    ("fields", "held_back"),
    [
        ({}, None),
        ({"feedback": "neutral"}, "no_feedback"),
        ({"feedback": "neutral", "rule": "rule.language"}, "language"),
        ({"target": None}, "no_answer"),
        ({"feedback": "accepted", "gate": "ok", "status_only": True}, "topic_change"),
        ({"feedback": "accepted", "gate": "neutral"}, "follow_up"),
        ({"feedback": "accepted", "gate": "ok"}, None),
        ({"confidence": 0.69}, "below_threshold"),
    ],
)
def test_a_verdict_that_is_not_announced_says_why(fields: dict[str, Any], held_back: str | None) -> None:
    target = Target("t1", "a1", "bot", 0.9, 0.9, 0.9, 1)
    verdict = Verdict("rejected", "not_ok", 0.7, "explicit", "no", target, (), "rules", "not_ok")
    one = replace(verdict, **fields)
    assert (one.held_back, one.emitted) == (held_back, held_back is None)
