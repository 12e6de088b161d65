"""Messages about an older answer than the one they are addressed to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from detector.detector import Detector
from detector.location import named_alone
from detector.model import Message, Neighbourhood, Target, Verdict
from detector.text import prepare

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
    ],
)
def test_what_an_older_answer_alone_holds_names_it(detector: Detector, text: str) -> None:
    verdict = judge(detector, *TALK, text)
    assert verdict.feedback == "rejected"
    assert (target_of(verdict).message_id, target_of(verdict).rule) == ("m1", "older_named")


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
    "text", ["That's wrong", "Wrong, the sunset in Oslo is later", "No, that's wrong. No walnuts!"]
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


def test_only_what_the_latest_exchange_lacks_names_an_older_answer() -> None:
    names = frozenset({"walnuts", "sunset"})
    answer, request = prepare("walnuts at sunset"), prepare("a starter")
    held = {latest: named_alone(names, answer, request, latest, points_back=False) for latest in (frozenset(), names)}
    assert held == {frozenset(): names, names: frozenset()}


def test_an_older_answer_may_have_as_many_of_the_names_as_the_latest_exchange_but_not_fewer() -> None:
    latest, request = frozenset({"sunset", "oslo"}), prepare("a starter")
    for names, alone in (({"walnuts", "sunset"}, {"walnuts"}), ({"walnuts", "sunset", "oslo"}, set())):
        found = named_alone(frozenset(names), prepare("walnuts at sunset"), request, latest, points_back=False)
        assert found == alone


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


def test_an_answer_far_back_can_be_asked_for(detector: Detector) -> None:
    before = tuple(Message(f"a{n}", f"t{n}", "bot", "agent", "bot", f"Tram {n}.", n) for n in range(12))
    item = Neighbourhood(before, Message("m", "t", "ann", "human", None, "That's wrong", 99))
    assert len(detector.locate(item)) == 5
    assert [target and target.turns_back for target in (detector.target(item, "a0"), detector.target(item, "a11"))] == [
        12, 1
    ]  # fmt: skip
