"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from detector.explain import explain, render
from detector.model import Neighbourhood, Target, Verdict

Judge = Callable[[str, str, str], Verdict]
MINUTE = 60_000_000


def test_a_rejection_in_words(said: Judge) -> None:
    text = render(said("that's not what I asked", "when did it open", "It is 200 m long."))
    assert text.startswith("The answer is rejected: it is turned down.")
    assert "0.90, announced" in text
    assert "en.not_what_i_asked" in text
    assert "turn previous (1 back)" in text


def test_nothing_said_in_words(said: Judge) -> None:
    text = render(said("", "when did it open", "In 1932."))
    assert text.startswith("Nothing is said about the answer.")
    assert "not announced" in text


TARGET = Target("t1", "a1", "bot", 0.575, 0.5, 1.0, 1)
VERDICT = Verdict(
    "rejected",
    "not_ok",
    0.9,
    "explicit",
    "That's wrong",
    TARGET,
    ("rule.rejects", "en.is_wrong"),
    "rules",
    "not_ok",
    {"similarity": 0.9, "rejected": 0.125},
)


def test_a_verdict_has_a_line_for_each_of_its_parts() -> None:
    assert render(VERDICT).splitlines() == [
        "The answer is rejected: it is turned down.",
        "  confidence  0.90, announced",
        "  decided by  a rule",
        "  gate        not_ok",
        "  because it  rejects the answer",
        "  rules       rule.rejects, en.is_wrong",
        "  encoder     none: only patterns judge; to add one: `agent-feedback encoder`",
        "  about       turn t1 (1 back), score 0.57 = 0.85 * 0.50 + 0.15 * 1.00",
        "  scores      similarity 0.90, rejected 0.12",
    ]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"correction_type": "rephrased"}, ["The answer is rejected: the request is asked again."]),
        ({"correction_type": "abandonment"}, ["The answer is rejected: the person gives up on it."]),
        ({"decided_by": "learned"}, ["  decided by  the reader"]),
        ({"decided_by": "llm"}, ["  decided by  the LLM gate", "  confidence  0.90, announced"]),
        ({"confidence": 0.69}, ["  confidence  0.69, not announced: below 0.70"]),
        ({"confidence": 0.7}, ["  confidence  0.70, announced"]),
        ({"target": None}, ["  confidence  0.90, not announced: there is no answer that it could be about"]),
        ({"feedback": "neutral", "correction_type": None}, ["  confidence  0.90, not announced"]),
        (
            {"feedback": "accepted", "correction_type": None, "gate": "neutral"},
            [
                "The answer is accepted.",
                "  confidence  0.90, not announced: it builds on the answer, and says nothing about its quality",
            ],
        ),
        (
            {"feedback": "accepted", "correction_type": None, "status_only": True, "reaction": None},
            [
                "A new topic: the earlier turn's status becomes accepted, nothing is announced.",
                "  confidence  0.90, not announced",
            ],
        ),
        (
            {"rules": (), "user_said": "no"},
            ["  because it  says nothing that speaks either way", "  rules       none"],
        ),
    ],
)
def test_a_line_shows_its_part_of_the_verdict(fields: dict[str, Any], lines: list[str]) -> None:
    assert set(lines) <= set(render(replace(VERDICT, **fields)).splitlines())


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"encoder": "minilm"}, "  encoder"),
        ({"target": None}, "  about"),
    ],
)
def test_what_a_verdict_lacks_has_no_line(fields: dict[str, Any], start: str) -> None:
    assert start in render(VERDICT)
    assert f"\n{start} " not in render(replace(VERDICT, **fields))


def test_a_message_follows_its_request_and_answer_by_a_minute_each() -> None:
    seen: list[Neighbourhood] = []

    class Listening:
        def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
            seen.extend(items)
            return [VERDICT]

    detector: Any = Listening()
    for request, answer in (("when?", "In 1932."), ("", "In 1932."), ("", "")):
        assert explain("no", request, answer, detector) is VERDICT
    assert [[(one.role, one.agent_id, one.text, one.at) for one in (*item.before, item.message)] for item in seen] == [
        [("human", None, "when?", 0), ("agent", "agent", "In 1932.", MINUTE), ("human", None, "no", 2 * MINUTE)],
        [("agent", "agent", "In 1932.", MINUTE), ("human", None, "no", 2 * MINUTE)],
        [("human", None, "no", 2 * MINUTE)],
    ]
    assert all(one.sender_id == item.message.sender_id for item in seen for one in item.before if one.role == "human")
