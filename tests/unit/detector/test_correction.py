"""Verdicts of correction rules and gate alone, in the order and with the constants of the specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.cues import asks_about_agent
from detector.evidence import Evidence
from detector.learned import Opinion, on_scale
from detector.model import Target, Verdict
from detector.patterns import agent_hits, human_hits, kinds
from detector.rules import Decision, decide
from detector.second_look import SecondLook, abstaining, worth_a_look
from detector.text import prepare
from detector.vocabulary import SESSION_TIMEOUT_US


def evidence(
    message: str, answer: str = "It opened in 1932.", request: str = "when did it open, please", **more: Any
) -> Evidence:
    found = human_hits(prepare(message))
    return Evidence(
        message=prepare(message),
        request=prepare(request),
        answer=prepare(answer),
        found=found,
        kinds=kinds(found),
        answer_kinds=kinds(agent_hits(prepare(answer))),
        **more,
    )


def ruled(seen: Evidence) -> Decision:
    """Return the decision without a learned layer."""
    return decide(seen, None)


@pytest.mark.parametrize(
    ("message", "feedback", "confidence", "kind"),
    [
        ("that's wrong", "rejected", 0.9, "explicit"),
        ("that's wrong, forget it", "rejected", 0.9, "explicit"),
        ("forget it", "rejected", 0.85, "abandonment"),
        ("thanks a lot", "accepted", 0.7, None),
        ("I'll take that one", "accepted", 0.7, None),
        ("what about the tunnel?", "accepted", 0.7, None),
        ("tunnel", "neutral", 0.5, None),
    ],
)
def test_order_and_constants(message: str, feedback: str, confidence: float, kind: str | None) -> None:
    call = ruled(evidence(message, similarity=0.5))
    assert (call.feedback, call.confidence, call.correction_type) == (feedback, confidence, kind)


def test_a_reworded_request_needs_likeness_and_the_same_intent() -> None:
    again = "please say when it did open"
    assert ruled(evidence(again, similarity=0.93, same_intent=0.9)).confidence == 0.93
    assert ruled(evidence(again, similarity=0.93, same_intent=0.9)).correction_type == "rephrased"
    assert ruled(evidence(again, similarity=0.93, same_intent=0.2)).feedback != "rejected"
    assert ruled(evidence(again, similarity=0.79, same_intent=0.9)).feedback != "rejected"


def test_the_same_request_for_something_else_is_no_rewording() -> None:
    call = ruled(
        evidence(
            "cheap hotels in Rome please",
            request="cheap hotels in Paris please",
            answer="Three hotels in Paris: A, B and C.",
            similarity=0.95,
            same_intent=0.9,
        )
    )
    assert call.feedback != "rejected"


def test_silence_leaves_only_explicit_rejections() -> None:
    assert ruled(evidence("thanks", silence=SESSION_TIMEOUT_US + 1)).rules == ("rule.silence",)
    assert ruled(evidence("forget it", silence=SESSION_TIMEOUT_US + 1)).feedback == "neutral"
    assert ruled(evidence("that's wrong", silence=SESSION_TIMEOUT_US + 1)).feedback == "rejected"
    assert ruled(evidence("thanks", silence=SESSION_TIMEOUT_US)).feedback == "accepted"


def test_a_new_unrelated_topic_is_status_only() -> None:
    call = ruled(evidence("by the way, how do magnets work?", similarity=0.05, answer_similarity=0.02))
    assert (call.feedback, call.confidence, call.status_only) == ("accepted", 0.5, True)


def test_what_a_question_disarms_it_disarms_in_every_language() -> None:
    found = human_hits(prepare("das ist mir zu teuer"), "de")
    seen = replace(evidence("x", answer="Möchten Sie das Doppelzimmer?"), found=found, kinds=kinds(found))
    assert ruled(seen).feedback == "neutral"
    assert ruled(replace(seen, answer_kinds=frozenset())).feedback == "rejected"


def test_no_after_an_open_question_is_an_answer() -> None:
    asked = "What colour would you like?"
    assert ruled(evidence("no, i want it plain", answer=asked)).feedback != "rejected"
    assert ruled(evidence("no, i want it plain", answer="I made it blue.")).feedback == "rejected"


@pytest.mark.parametrize(
    ("answer", "message", "feedback"),
    [
        ("How about the harbour walk?", "I'm not a big fan of harbours", "rejected"),
        ("How about the harbour walk?", "too windy for us", "rejected"),
        ("Have you tried the harbour walk?", "no, I only came yesterday", "neutral"),
        ("How about I book the harbour walk?", "No, I don't want that", "neutral"),
        ("What kind of walk do you like?", "I'm not a big fan of harbours", "neutral"),
        ("What about the walk did you like?", "I'm not a big fan of harbours", "neutral"),
        ("Is there anything else about it that you would tell others?", "I hated the harbour", "neutral"),
    ],
)
def test_what_is_said_against_a_suggestion_turns_it_down(answer: str, message: str, feedback: str) -> None:
    assert ruled(evidence(message, answer, similarity=0.5)).feedback == feedback


@pytest.mark.parametrize(
    ("message", "answer", "decided_by"),
    [
        ("a bit too long", "How about the harbour walk?", "rules"),
        ("a bit too long", "The harbour walk takes a day.", "learned"),
        ("I hated it", "The harbour walk takes a day.", "rules"),
        ("I hated it, but the boats were pretty", "The harbour walk takes a day.", "learned"),
    ],
)
def test_no_layer_overrules_a_taste_or_what_is_said_against_a_suggestion(
    message: str, answer: str, decided_by: str
) -> None:
    contradicting = Opinion((0.1, 0.0, 0.0, 0.1, 0.0, 0.8), ())
    assert decide(evidence(message, answer), contradicting).decided_by == decided_by


@pytest.mark.parametrize(
    ("answer", "feedback"),
    [
        ("Okay, two seats at noon?", "rejected"),
        ("Please give confirmation details: two seats at noon.", "rejected"),
        ("Okay, what time is best for two seats?", "neutral"),
    ],
)
def test_a_no_to_what_is_read_back_corrects_it(answer: str, feedback: str) -> None:
    assert ruled(evidence("No, book it for one o'clock", answer, similarity=0.5)).feedback == feedback


@pytest.mark.parametrize(
    ("message", "answer", "asked", "feedback"),
    [
        ("I wanted to know when the lift closes", "It opened in 1932.", "when is the lift open", "rejected"),
        ("I wanted to know when it closes", "It opened in 1932.", "opening hours", "rejected"),
        ("I wanted to know the price", "It opened in 1932.", "when is the lift open", "neutral"),
        ("I wanted to know when the lift closes", "Which lift?", "when is the lift open", "neutral"),
    ],
)
def test_the_request_as_it_was_meant_turns_an_answer_down(message: str, answer: str, asked: str, feedback: str) -> None:
    assert ruled(evidence(message, answer, asked, similarity=0.5)).feedback == feedback


def test_who_did_not_understand_takes_nothing_and_is_not_announced() -> None:
    seen = evidence("what do you mean?", similarity=0.5)
    taking = Opinion((0.0, 0.0, 0.0, 0.0, 0.9, 0.1), ())
    decision = decide(seen, taking)
    assert (decision.feedback, decision.rules) == ("rejected", ("rule.puzzled",))
    assert decision.confidence < ANNOUNCEMENT_THRESHOLD
    assert decide(replace(seen, language="de"), taking).feedback == "accepted"
    longer = "what do you mean by the second of the three figures?"
    assert decide(evidence(longer, similarity=0.5), taking).feedback == "accepted"


def test_a_question_about_the_agent_itself_is_small_talk() -> None:
    talk = ruled(evidence("so, do you have any pets?", similarity=0.5))
    assert (talk.feedback, talk.rules) == ("neutral", ("rule.asks_agent",))
    assert ruled(evidence("thanks! do you have any pets?", similarity=0.5)).feedback == "accepted"
    assert "rule.asks_agent" not in ruled(evidence("what would you like me to send?", similarity=0.5)).rules


def test_for_and_against_at_once_is_ambiguous() -> None:
    assert ruled(evidence("thanks, but that's too expensive")).feedback == "neutral"


def test_cues_lean_but_never_announce() -> None:
    against = ruled(evidence("hmm, not my taste, boring"))
    assert against.gate == "not_ok"
    assert against.confidence < ANNOUNCEMENT_THRESHOLD
    assert ruled(evidence("lovely colours")).gate == "ok"
    assert ruled(evidence("the tunnel")).gate == "neutral"
    assert ruled(evidence("lovely colours", answer="Which colours do you like?")).gate == "neutral"


def test_a_rule_decides_alone_unless_the_layer_contradicts_it() -> None:
    seen = evidence("that's wrong")
    agreeing = Opinion((0.9, 0.0, 0.0, 0.05, 0.0, 0.05), ())
    contradicting = Opinion((0.1, 0.0, 0.0, 0.8, 0.0, 0.1), ("learned.x",))
    assert (decide(seen, agreeing).decided_by, decide(seen, agreeing).confidence) == ("rules", 0.9)
    decision = decide(seen, contradicting)
    assert (decision.decided_by, decision.feedback, decision.confidence) == ("learned", "accepted", 0.8)
    assert [decide(seen, opinion).settled for opinion in (None, agreeing, contradicting)] == [True, True, False]
    assert not decide(evidence("the tunnel"), None).settled
    assert decide(evidence("🙂"), None).settled, "there is nothing to decide"


def test_the_point_fitted_for_announcing_is_the_threshold_on_the_scale() -> None:
    seen = evidence("the tunnel is closed on Mondays")
    shares = (0.75, 0.05, 0.0, 0.1, 0.0, 0.1)
    assert decide(seen, Opinion(shares, (), (0.9, 0.7))).confidence < ANNOUNCEMENT_THRESHOLD
    assert decide(seen, Opinion(shares, (), (0.8, 0.7))).confidence == pytest.approx(ANNOUNCEMENT_THRESHOLD)
    assert decide(seen, Opinion(shares, (), (0.6, 0.7))).confidence == pytest.approx(0.85)
    points = [on_scale(step / 100, 0.8) for step in range(101)]
    assert points == sorted(points)
    assert [points[0], points[100]] == pytest.approx([0.0, 1.0])


LOOKS = [
    ("the tunnel", "It opened in 1932.", 0.46, True),
    ("the tunnel", "It opened in 1932.", 0.44, False),
    ("the tunnel", "It opened in 1932.", 0.89, True),
    ("the tunnel", "It opened in 1932.", 0.9, False),
    ("the tunnel", "What is your favourite sight?", 0.89, False),
    ("you misunderstood", "What is your favourite sight?", 0.89, False),
    ("that's wrong", "It opened in 1932.", 0.5, False),
    ("yes, please", "Would you like me to book it?", 0.89, False),
    ("thanks a lot", "It opened in 1932.", 0.69, False),
    ("thanks a lot", "It opened in 1932.", 0.71, True),
    ("no, not now", "Would you like me to book it?", 0.89, False),
    ("```\ncode\n```", "It opened in 1932.", 0.89, False),
]
"""Message, answer before it, the first judgement's probability of a rejection, and True if a second judgement
follows."""


@pytest.mark.parametrize(("message", "answer", "rejected", "looked_at"), LOOKS)
def test_a_second_look_is_taken_where_it_can_change_what_is_said(
    message: str, answer: str, rejected: float, looked_at: bool
) -> None:
    opinion = Opinion((rejected, 0.0, 0.0, 0.0, 0.0, 1 - rejected), ())
    assert worth_a_look(evidence(message, answer), opinion) is looked_at


def test_of_a_batch_the_second_look_reads_what_it_can_change_each_text_once() -> None:
    second = Opinion((0.0, 0.0, 0.0, 0.9, 0.0, 0.1), ())
    read: list[str] = []
    rows: list[tuple[int, ...]] = []

    class Encoder:
        name = "second"

        def embed(self, texts: Sequence[str]) -> Any:
            read.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    class SecondLayer:
        embedder = "second"

        def opinions(self, known: Any, messages: Any, answers: Any) -> list[Opinion]:
            rows.append(tuple(known[:, 0].astype(int).tolist()))
            assert len(known) == len(messages) == len(answers)
            assert np.array_equal(known, answers)
            return [second] * len(known)

    seen = [evidence(message, answer) for message, answer, _, _ in LOOKS]
    opinions = [Opinion((share, 0.0, 0.0, 0.0, 0.0, 1 - share), ()) for _, _, share, _ in LOOKS]
    places = np.arange(len(LOOKS), dtype=np.float32).reshape(-1, 1)
    look = SecondLook(Encoder(), SecondLayer())  # type: ignore[arg-type]
    revised = look.revised([*seen, seen[0]], [*opinions, None], np.append(places, [[99]], axis=0), places)
    expected = [number for number, (_, _, _, looked_at) in enumerate(LOOKS) if looked_at]
    assert rows == [tuple(expected)]
    assert sorted(read) == sorted({LOOKS[number][0] for number in expected})
    assert [one is second for one in revised] == [*(looked_at for _, _, _, looked_at in LOOKS), False]
    assert revised[-1] is None
    for number, (one, opinion) in enumerate(zip(seen, opinions, strict=True)):
        assert number in expected or revised[number] == abstaining(one, opinion)
    assert look.revised(seen[1:2], opinions[1:2], places[:1], places[:1]) == [abstaining(seen[1], opinions[1])]
    assert len(rows) == 1, "nothing to read, nothing asked"


@pytest.mark.parametrize(
    ("message", "answer", "asks"),
    [
        ("do you like music?", "It opened in 1932.", True),
        ("do you like music?", "What is your favourite sight?", False),
        ("thanks! do you like music?", "It opened in 1932.", False),
        ("does it open on Mondays?", "It opened in 1932.", False),
    ],
)
def test_a_question_about_the_agent_itself(message: str, answer: str, asks: bool) -> None:
    assert asks_about_agent(evidence(message, answer)) is asks


def test_a_rejection_too_unlikely_for_a_second_look_says_nothing() -> None:
    unlikely, likelier = (Opinion((share, 0.0, 0.0, 0.3, 0.0, 0.7 - share), ("learned.x",)) for share in (0.4, 0.45))
    assert unlikely.feedback == likelier.feedback == "rejected"
    seen = evidence("the tunnel", "It opened in 1932.")
    assert abstaining(seen, likelier) is likelier
    assert abstaining(seen, unlikely).feedback == "neutral"
    assert sum(abstaining(seen, unlikely).probabilities) == pytest.approx(1)
    approving = Opinion((0.3, 0.0, 0.0, 0.4, 0.0, 0.3), ())
    assert abstaining(seen, approving) is approving


@pytest.mark.parametrize(
    ("message", "rejected", "says_nothing"),
    [("the tunnel", 0.89, True), ("the tunnel", 0.9, False), ("that's wrong", 0.89, False)],
)
def test_a_doubtful_rejection_in_an_answer_to_the_agents_question_says_nothing(
    message: str, rejected: float, says_nothing: bool
) -> None:
    opinion = Opinion((rejected, 0.0, 0.0, 0.0, 0.0, 1 - rejected), ())
    found = abstaining(evidence(message, "What is your favourite sight?"), opinion)
    assert (found.feedback == "neutral") is says_nothing


@pytest.mark.parametrize(("status_only", "announced"), [(False, True), (True, False)])
def test_a_new_topic_is_never_announced_however_sure(status_only: bool, announced: bool) -> None:
    target = Target("t1", "a1", "bot", score=1.0, similarity=1.0, recency=1.0, turns_back=1)
    verdict = Verdict("accepted", "ok", 0.99, None, "so", target, (), "llm", "ok", status_only=status_only)
    assert verdict.emitted is announced
