"""Correction detection and the gate by rules alone: the order and the constants of the specification."""

from __future__ import annotations

import pytest

from inference.correction import SESSION_TIMEOUT_US, correct
from inference.decide import decide
from inference.evidence import Evidence
from inference.gate import gate
from inference.learned import Opinion
from inference.patterns import agent_hits, human_hits, kinds
from inference.text import prepare


def evidence(
    message: str, answer: str = "It opened in 1932.", request: str = "when did it open, please", **more: float
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
    call = correct(evidence(message, similarity=0.5))
    assert (call.feedback, call.confidence, call.correction_type) == (feedback, confidence, kind)


def test_a_reworded_request_needs_likeness_and_the_same_intent() -> None:
    again = "please say when it did open"
    assert correct(evidence(again, similarity=0.93, same_intent=0.9)).confidence == 0.93
    assert correct(evidence(again, similarity=0.93, same_intent=0.9)).correction_type == "rephrased"
    assert correct(evidence(again, similarity=0.93, same_intent=0.2)).feedback != "rejected"
    assert correct(evidence(again, similarity=0.79, same_intent=0.9)).feedback != "rejected"


def test_the_same_request_for_something_else_is_no_rewording() -> None:
    call = correct(
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
    assert correct(evidence("thanks", silence=SESSION_TIMEOUT_US + 1)).rules == ("rule.silence",)
    assert correct(evidence("forget it", silence=SESSION_TIMEOUT_US + 1)).feedback == "neutral"
    assert correct(evidence("that's wrong", silence=SESSION_TIMEOUT_US + 1)).feedback == "rejected"
    assert correct(evidence("thanks", silence=SESSION_TIMEOUT_US)).feedback == "accepted"


def test_a_new_unrelated_topic_is_status_only() -> None:
    call = correct(evidence("by the way, how do magnets work?", similarity=0.05, answer_similarity=0.02))
    assert (call.feedback, call.confidence, call.status_only) == ("accepted", 0.5, True)


def test_no_after_an_open_question_is_an_answer() -> None:
    asked = "What colour would you like?"
    assert correct(evidence("no, i want it plain", answer=asked)).feedback != "rejected"
    assert correct(evidence("no, i want it plain", answer="I made it blue.")).feedback == "rejected"


def test_for_and_against_at_once_is_ambiguous() -> None:
    assert correct(evidence("thanks, but that's too expensive")).feedback == "neutral"


def test_the_gate_leans_but_never_announces() -> None:
    against = gate(evidence("hmm, not my taste, boring"))
    assert against.call == "not_ok"
    assert against.confidence < 0.7
    assert gate(evidence("lovely colours")).call == "ok"
    assert gate(evidence("the tunnel")).call == "neutral"
    assert gate(evidence("lovely colours", answer="Which colours do you like?")).call == "neutral"


def test_a_rule_decides_alone_unless_the_layer_contradicts_it() -> None:
    seen = evidence("that's wrong")
    agreeing = Opinion((0.9, 0.0, 0.0, 0.05, 0.0, 0.05), ())
    contradicting = Opinion((0.1, 0.0, 0.0, 0.8, 0.0, 0.1), ("learned.x",))
    assert (decide(seen, agreeing, 0.8).decided_by, decide(seen, agreeing, 0.8).confidence) == ("rules", 0.9)
    told = decide(seen, contradicting, 0.8)
    assert (told.decided_by, told.feedback, told.confidence) == ("learned", "accepted", 0.8)
    assert [decide(seen, opinion, 0.8).settled for opinion in (None, agreeing, contradicting)] == [True, True, False]
    assert not decide(evidence("the tunnel"), None, 0.8).settled
    assert decide(evidence("🙂"), None, 0.8).settled, "there is nothing to decide"


def test_an_unlikely_rejection_is_held_under_the_threshold() -> None:
    seen = evidence("the tunnel is closed on Mondays")
    likely = Opinion((0.75, 0.05, 0.0, 0.1, 0.0, 0.1), ())
    assert decide(seen, likely, 0.9).confidence < 0.7
    assert decide(seen, likely, 0.8).confidence == pytest.approx(0.8)
