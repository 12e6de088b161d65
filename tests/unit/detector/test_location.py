"""Location of the earlier answer that a message is about."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from detector.detector import Detector
from detector.encoders.exchange import Logits
from detector.location import MAX_AGE_US, likeness, locate, named_alone, place_at, revises
from detector.model import Message, Neighbourhood, Target, Verdict
from detector.text import prepare

DAY = 24 * 3600 * 1_000_000


def answer(number: int, text: str = "", at: int = 0) -> Message:
    return Message(f"m{number}", f"t{number}", "bot", "agent", "bot", text, at)


def test_the_score_is_085_similarity_and_015_recency() -> None:
    found = locate([answer(1), answer(2)], [0.4, 0.2], now=0)
    assert [(t.turn_id, t.recency, t.turns_back) for t in found] == [("t1", 0.5, 2), ("t2", 1.0, 1)]
    assert [t.score for t in found] == pytest.approx([0.85 * 0.4 + 0.15 / 2, 0.85 * 0.2 + 0.15])


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


def test_five_at_most_and_none_older_than_a_year() -> None:
    candidates = [answer(n, at=n * DAY) for n in range(8)]
    assert len(locate(candidates, [0.1] * 8, now=8 * DAY)) == 5
    assert [t.turn_id for t in locate(candidates, [0.1] * 8, now=8 * DAY, top_k=2)] == ["t7", "t6"]
    late = locate(candidates, [0.1] * 8, now=MAX_AGE_US + 6 * DAY)
    assert {t.turn_id for t in late} == {"t6", "t7"}


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
        ({"starter", "beetroot", "oslo"}, {"oslo"}, False, set()),  # the message names the latest, too
        ({"starter", "beetroot", "oslo"}, {"oslo"}, True, {"starter", "beetroot"}),
        ({"walnuts", "beetroot", "oslo"}, {"oslo"}, False, {"walnuts", "beetroot"}),
        ({"walnuts", "oslo"}, {"oslo"}, True, set()),  # no more words than of the latest
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


# Messages about an older answer than the one they are addressed to.

MINUTE = 60_000_000


YEAR = 365 * 24 * 60 * MINUTE


def judge(detector: Detector, *texts: str, later: int = 0, reply_to: str | None = None) -> Verdict:
    """Return the verdict on the last of alternating texts of a person and the agent: m0, m1 and so on.

    The first two texts are `later` microseconds older than the others. The last is a reply to `reply_to`, if given.
    """
    *before, judged = [
        Message(
            f"m{n}",
            f"m{n}",
            ("ann", "bot")[n % 2],
            ("human", "agent")[n % 2],
            "bot" if n % 2 else None,
            text,
            n * MINUTE + (later if n > 1 else 0),
        )
        for n, text in enumerate(texts)
    ]
    return detector.judge([Neighbourhood(tuple(before), replace(judged, reply_to=reply_to))])[0]


def target_of(verdict: Verdict) -> Target:
    assert verdict.target is not None
    return verdict.target


TALK = (
    "Suggest a starter for Sunday's dinner",
    "How about beetroot carpaccio with walnuts?",
    "What time does the sun set in Oslo today?",
    "At 15:41.",
)


@pytest.mark.parametrize(
    "text",
    [
        "The beetroot carpaccio was terrible, that's wrong for kids",
        "the starter you suggested was awful, wrong choice",
        "No, that's wrong. No walnuts!",
        "No, that's wrong: the starter is too heavy",
        "No, I asked for a starter, that's wrong",
    ],
)
def test_what_an_older_answer_alone_holds_names_it(detector: Detector, text: str) -> None:
    verdict = judge(detector, *TALK, text)
    assert verdict.feedback == "rejected"
    assert (target_of(verdict).message_id, target_of(verdict).rule) == ("m1", "older_named")


class ReadsTwoAnswers:
    """Reader that reads rejections of the carpaccio, and nothing about other answers."""

    name = "two answers"

    def read(self, message: str, answer: str, request: str) -> Logits:
        return np.array([9, 0, 0, 0, 0, 0] if "carpaccio" in answer else [0, 0, 0, 0, 0, 9], np.float32)


def test_what_rejects_only_the_older_answer_is_about_it(detector: Detector) -> None:
    reader = Detector(detector.embedder, ReadsTwoAnswers())
    talk = (TALK[0], "Beetroot carpaccio with walnuts.", *TALK[2:])
    rejection, other = (judge(reader, *talk, text) for text in ("the carpaccio tasted of soap", "a taste of soap"))
    assert (rejection.feedback, target_of(rejection).message_id) == ("rejected", "m1")
    assert (other.feedback, other.target) == ("neutral", None)


def test_a_reply_is_about_its_answer_whatever_it_names(detector: Detector) -> None:
    text = "The beetroot carpaccio was terrible, that's wrong for kids"
    for reply_to in ("m3", "m1"):
        target = target_of(judge(detector, *TALK, text, reply_to=reply_to))
        assert (target.message_id, target.rule) == (reply_to, "named")


def test_an_answer_of_more_than_a_year_ago_is_not_named(detector: Detector) -> None:
    judged = "The beetroot carpaccio was terrible, that's wrong for kids"
    found = [target_of(judge(detector, *TALK, judged, later=YEAR - 3 * MINUTE + after)) for after in (0, 1)]
    assert [(one.message_id, one.rule) for one in found] == [("m1", "older_named"), ("m3", "own_latest")]


@pytest.mark.parametrize(
    "text",
    [
        "That's wrong",
        "Wrong, the sunset in Oslo is later",
        "No, that's wrong: the sun and the walnuts",  # names the latest exchange, too
    ],
)
def test_what_names_nothing_or_restates_stays_at_the_latest(detector: Detector, text: str) -> None:
    verdict = judge(detector, *TALK, text)
    assert verdict.feedback == "rejected"
    assert (target_of(verdict).message_id, target_of(verdict).rule) == ("m3", "own_latest")


def test_a_word_of_the_first_request_alone_names_no_older_answer(detector: Detector) -> None:
    verdict = judge(
        detector,
        "Book a table for four on the terrace",
        "A table inside, at eight.",
        "Move it to nine",
        "Moved: a table for two at nine.",
        "That's wrong, on the terrace please",
    )
    assert target_of(verdict).message_id == "m3"


def test_a_word_of_two_older_answers_names_neither(detector: Detector) -> None:
    verdict = judge(
        detector, *TALK[:2], "And a salad?", "Rocket with walnuts.", *TALK[2:], "No, that's wrong. No walnuts!"
    )
    assert (target_of(verdict).message_id, target_of(verdict).rule) == ("m5", "own_latest")


def test_three_corrections_in_a_row_are_each_about_the_answer_just_given(detector: Detector) -> None:
    talk = [
        "Write a haiku about the harbour at night",
        "Night over the hills, / a fox listens to the wind, / leaves fall on the path.",
        "That's wrong, no hills. The harbour!",
        "Noon in the harbour, / gulls scream over empty boats, / ropes dry in the sun.",
        "Still wrong: at night, not at noon",
        "Night in the harbour.",
        "That's not what I asked for, a haiku has three lines",
    ]
    for end in (3, 5, 7):
        verdict = judge(detector, *talk[:end])
        assert (verdict.feedback, target_of(verdict).message_id) == ("rejected", f"m{end - 2}")


def test_the_target_of_feedback_is_the_named_answer_or_the_one_that_was_asked_for(detector: Detector) -> None:
    texts = (*TALK, "The beetroot carpaccio was terrible")
    *before, message = [
        Message(f"m{n}", f"m{n}", ("ann", "bot")[n % 2], ("human", "agent")[n % 2], None, text, n * MINUTE)
        for n, text in enumerate(texts)
    ]
    item = Neighbourhood(tuple(before), message)
    plain = replace(item, message=replace(message, text="That's wrong"))

    def found(seen: Neighbourhood, message_id: str | None = None) -> tuple[str, int, str] | None:
        target = detector.target(seen, message_id)
        return (target.message_id, target.turns_back, target.rule) if target else None

    assert (found(item), found(plain)) == (("m1", 2, "older_named"), ("m3", 1, "own_latest"))
    assert (found(item, "m3"), found(plain, "m1")) == (("m3", 1, "own_latest"), ("m1", 2, "own_latest"))
    assert found(item, "m0") is None, "a person's message is no target"
    assert found(Neighbourhood((), message)) is None
    best, other = detector.locate(item)
    assert (best.message_id, other.message_id) == ("m1", "m3")
    assert detector.locate(item, top_k=1) == (best,)
