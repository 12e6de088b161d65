"""Location of the earlier answer that a message is about."""

from __future__ import annotations

from math import log

import pytest

from detector.detector import Detector
from detector.location import MAX_AGE_US, likeness, locate, named_alone, place_at, revises
from detector.model import Message, Neighbourhood
from detector.text import prepare

DAY = 24 * 3600 * 1_000_000


def answer(number: int, text: str = "", at: int = 0) -> Message:
    return Message(f"m{number}", f"t{number}", "bot", "agent", "bot", text, at)


def test_the_score_is_085_similarity_and_015_recency() -> None:
    found = locate([answer(1), answer(2)], [0.4, 0.2], now=0)
    assert [(t.turn_id, t.recency, t.turns_back) for t in found] == [("t1", 0.5, 2), ("t2", 1.0, 1)]
    assert [t.score for t in found] == pytest.approx([0.85 * 0.4 + 0.15 / 2, 0.85 * 0.2 + 0.15])


def test_a_target_has_six_decimals() -> None:
    [first, *_] = [one for one in locate([answer(n) for n in range(3)], [1 / 3] * 3, now=0) if one.turns_back == 3]
    assert (first.score, first.similarity, first.recency) == (0.333333, 0.333333, 0.333333)
    [target] = locate([answer(1)], [1 / 7], now=0)
    assert (target.score, target.similarity) == (0.271429, 0.142857)


@pytest.mark.parametrize(("given", "similarity"), [(1.2, 1.0), (-0.2, 0.0), (0.5, 0.5)])
def test_a_similarity_is_from_zero_to_one(given: float, similarity: float) -> None:
    [target] = locate([answer(1)], [given], now=0)
    assert (target.similarity, target.score) == pytest.approx((similarity, 0.85 * similarity + 0.15))


def test_a_target_names_its_agent_or_else_its_sender() -> None:
    by_agent = Message("m1", "t1", "sender", "agent", "agent", "", 0)
    by_sender = Message("m2", "t2", "sender", "agent", None, "", 0)
    targets = [place_at([by_agent, by_sender], place, 0.5, 0, "thread") for place in (0, 1)]
    assert [target and (target.agent_id, target.message_id, target.turns_back, target.rule) for target in targets] == [
        ("agent", "m1", 2, "thread"),
        ("sender", "m2", 1, "thread"),
    ]


def test_equally_alike_the_latest_wins() -> None:
    assert locate([answer(1), answer(2)], [0.5, 0.5], now=0)[0].turn_id == "t2"


def test_five_at_most_and_none_older_than_a_year() -> None:
    candidates = [answer(n, at=n * DAY) for n in range(8)]
    assert len(locate(candidates, [0.1] * 8, now=8 * DAY)) == 5
    assert [t.turn_id for t in locate(candidates, [0.1] * 8, now=8 * DAY, top_k=2)] == ["t7", "t6"]
    late = locate(candidates, [0.1] * 8, now=MAX_AGE_US + 6 * DAY)
    assert {t.turn_id for t in late} == {"t6", "t7"}


def test_an_answer_from_the_future_is_still_one() -> None:
    assert locate([answer(1, at=10 * DAY)], [0.5], now=0)[0].turn_id == "t1"


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    candidates = [prepare("the Nova camera"), prepare("the Lumo camera"), prepare("another camera")]
    alike = likeness(prepare("that Nova camera"), candidates, [0.0, 0.0, 0.0])
    assert alike[0] > alike[1] == alike[2] > 0


def test_a_word_of_one_answer_counts_more_than_one_of_two() -> None:
    candidates = [prepare("the Nova"), prepare("a camera"), prepare("the camera")]
    rare, common, _ = likeness(prepare("Nova camera"), candidates, [0.0] * 3)
    assert (rare, common) == pytest.approx([0.8 * log(1 + share) / (log(4) + log(2.5)) for share in (3 / 1, 3 / 2)])


def test_a_word_that_judges_counts_three_quarters() -> None:
    great, lumo = likeness(prepare("great Lumo"), [prepare("a great film"), prepare("the Lumo film")], [0.0, 0.0])
    assert (great, lumo) == pytest.approx((0.8 * 0.75 / 1.75, 0.8 / 1.75))


def test_without_words_in_common_a_fifth_of_the_cosine_counts() -> None:
    assert likeness(prepare("Lumo"), [prepare("a film"), prepare("")], [0.5, 1.0]) == pytest.approx([0.1, 0.2])
    assert likeness(prepare(""), [prepare("a film")], [0.5]) == pytest.approx([0.1])


@pytest.mark.parametrize(
    ("message", "alike"),
    [
        ("the starter", [0.8, 0.0]),  # of no answer, but of a request
        ("starter with walnuts", [0.4, 0.0]),  # a word of an answer: requests do not count
        ("great starter", [0.8 / 1.75, 0.0]),  # a word that judges leaves the requests in place
    ],
)
def test_words_of_requests_count_if_no_answer_has_any(message: str, alike: list[float]) -> None:
    answers, requests = [prepare("great walnuts"), prepare("sunset")], [prepare("a starter"), prepare("the time")]
    assert likeness(prepare(message), answers, [0.0, 0.0], requests) == pytest.approx(alike)


@pytest.mark.parametrize(
    ("latest", "older", "revised"),
    [
        ("Night in the harbour", "Noon in the harbour", True),
        ("oak elm yew fig bay ash", "oak elm rye oat pea", True),  # two of five words
        ("oak nut yew fig bay ash", "oak elm rye oat pea", False),
        ("oak", "oak elm rye oat pea", True),  # of the shorter one
        ("oak elm rye oat pea", "oak", True),
        ("great answer", "great answer", False),  # words that judge are no topic
        ("", "one", False),
    ],
)
def test_an_answer_with_two_fifths_of_the_topic_words_revises(latest: str, older: str, revised: bool) -> None:
    assert revises(prepare(latest), prepare(older), "en") is revised


@pytest.mark.parametrize(
    ("names", "latest", "points_back", "alone"),
    [
        ({"starter"}, {"oslo"}, False, {"starter"}),
        ({"starter"}, {"oslo", "walnuts"}, False, set()),  # the older exchange continues in the latest
        ({"starter", "oslo"}, {"oslo"}, False, set()),  # the message names the latest, too
        ({"starter", "oslo"}, {"oslo"}, True, {"starter"}),
        ({"walnuts", "oslo"}, {"oslo"}, False, {"walnuts"}),
        ({"harbour"}, {"oslo"}, True, set()),
    ],
)
def test_a_word_of_an_older_request_names_its_answer_if_nothing_else_is_named(
    names: set[str], latest: set[str], points_back: bool, alone: set[str]
) -> None:
    older = prepare("beetroot with walnuts"), prepare("a starter")
    assert named_alone(frozenset(names), *older, frozenset(latest), points_back=points_back) == alone


def test_a_message_that_names_an_earlier_answer_is_about_it(detector: Detector) -> None:
    texts = ["How about the Golden Lotus restaurant?", "Or the Harbor Grill?", "You could also cook at home."]
    before = tuple(answer(n, text, n) for n, text in enumerate(texts))
    named = Message("m", "t", "ann", "human", None, "I don't like the Golden Lotus at all, terrible food", 9)
    assert detector.locate(Neighbourhood(before, named))[0].turn_id == "t0"
    vague = Message("m", "t", "ann", "human", None, "no I do not like it", 9)
    verdict = detector.judge([Neighbourhood(before, vague)])[0]
    assert verdict.target is not None
    assert verdict.target.turn_id == "t2"
