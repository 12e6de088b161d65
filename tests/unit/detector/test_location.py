"""Location of the earlier answer that a message is about."""

from __future__ import annotations

import pytest

from detector.detector import Detector
from detector.location import MAX_AGE_US, likeness, locate
from detector.model import Message, Neighbourhood
from detector.text import prepare

DAY = 24 * 3600 * 1_000_000


def answer(number: int, text: str = "", at: int = 0) -> Message:
    return Message(f"m{number}", f"t{number}", "bot", "agent", "bot", text, at)


def test_the_score_is_085_similarity_and_015_recency() -> None:
    found = locate([answer(1), answer(2)], [0.4, 0.2], now=0)
    assert [(t.turn_id, t.recency, t.turns_back) for t in found] == [("t1", 0.5, 2), ("t2", 1.0, 1)]
    assert [t.score for t in found] == pytest.approx([0.85 * 0.4 + 0.15 / 2, 0.85 * 0.2 + 0.15])


def test_equally_alike_the_latest_wins() -> None:
    assert locate([answer(1), answer(2)], [0.5, 0.5], now=0)[0].turn_id == "t2"


def test_five_at_most_and_none_older_than_a_year() -> None:
    candidates = [answer(n, at=n * DAY) for n in range(8)]
    assert len(locate(candidates, [0.1] * 8, now=8 * DAY)) == 5
    late = locate(candidates, [0.1] * 8, now=MAX_AGE_US + 6 * DAY)
    assert {t.turn_id for t in late} == {"t6", "t7"}


def test_an_answer_from_the_future_is_still_one() -> None:
    assert locate([answer(1, at=10 * DAY)], [0.5], now=0)[0].turn_id == "t1"


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    candidates = [prepare("the Nova camera"), prepare("the Lumo camera"), prepare("another camera")]
    alike = likeness(prepare("that Nova camera"), candidates, [0.0, 0.0, 0.0])
    assert alike[0] > alike[1] == alike[2] > 0


def test_a_message_that_names_an_earlier_answer_is_about_it(detector: Detector) -> None:
    texts = ["How about the Golden Lotus restaurant?", "Or the Harbor Grill?", "You could also cook at home."]
    before = tuple(answer(n, text, n) for n, text in enumerate(texts))
    named = Message("m", "t", "ann", "human", None, "I don't like the Golden Lotus at all, terrible food", 9)
    assert detector.locate(Neighbourhood(before, named))[0].turn_id == "t0"
    vague = Message("m", "t", "ann", "human", None, "no I do not like it", 9)
    verdict = detector.judge([Neighbourhood(before, vague)])[0]
    assert verdict.target is not None
    assert verdict.target.turn_id == "t2"
