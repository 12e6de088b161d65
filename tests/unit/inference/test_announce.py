"""Announcements of verdicts and of retractions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from contracts.base import TEXT_LIMIT
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message, Target, Verdict
from inference.announce import announcement
from inference.store import ConversationKey, IndexedMessage, Placed

TARGET = Target("t1", "a1", "bot", 0.9, 0.9, 1.0, 1)
VERSION = "2026-11-23.a1b2c3d4"
WHERE = ConversationKey("acme", "support", "c1")


def placed(text: str = "No, that is wrong.", emitted: str | None = None) -> Placed:
    message = Message("q2", "t2", "ann", "human", None, text, 50)
    return Placed(IndexedMessage(WHERE, message, b""), 3, emitted, emitted and "bot")


def verdict(target: Target | None, confidence: float = 0.9) -> Verdict:
    text, rules = "No, that is wrong.", ("flat_no",)
    if target is None:
        return Verdict("neutral", None, 0.5, None, text, target, rules, "rules", "neutral")
    return Verdict("rejected", "not_ok", confidence, "explicit", text, target, rules, "rules", "neutral")


def announced(placed: Placed, verdict: Verdict, answer: Provenance = NO_PROVENANCE, version: str = VERSION) -> Any:
    return announcement(placed, verdict, answer, version)


def test_a_verdict_says_what_the_person_wrote() -> None:
    event = announced(placed(), verdict(TARGET))
    assert (event.turn_id, event.detected_in_turn_id, event.verdict) == ("t1", "t2", "rejected")
    assert (event.user_said, event.rules, event.evaluation) == ("No, that is wrong.", ("flat_no",), 3)


def test_a_text_of_the_greatest_length_counts_as_truncated() -> None:
    found = [announced(placed("x" * length), verdict(TARGET)) for length in (TEXT_LIMIT - 1, TEXT_LIMIT)]
    assert [(len(event.user_said), event.truncated) for event in found] == [(9_999, False), (10_000, True)]


def test_an_event_gives_the_rule_that_decided_and_its_reasons_in_words() -> None:
    judged = replace(verdict(TARGET), rules=("rule.rejects", "en.is_wrong"), rule="rule.rejects")
    event = announced(placed(), judged)
    assert (event.rule, event.reasons) == ("rule.rejects", ("rejects the answer",))
    assert announced(placed(), replace(judged, rule="")).rule is None
    retraction = announced(placed(emitted="t1"), replace(verdict(None), rules=judged.rules, rule="rule.nothing"))
    assert (retraction.rule, retraction.reasons) == (None, ())


def test_an_event_says_how_the_answer_was_made_and_who_the_person_is() -> None:
    said = placed()
    known = replace(said, indexed=replace(said.indexed, user_type="paid"))
    event = announced(known, verdict(TARGET), Provenance(track_id="track-1", agent_version="7", intent="hours"))
    assert (event.track_id, event.agent_version, event.intent, event.model) == ("track-1", "7", "hours", None)
    assert (event.user_type, announced(said, verdict(TARGET)).user_type) == ("paid", "human")
    strange = replace(said, indexed=replace(said.indexed, user_type="head of sales"))
    assert announced(strange, verdict(TARGET)).user_type == "head of sales"


def test_nothing_found_and_nothing_announced_before_is_nothing_to_say() -> None:
    assert announced(placed(), verdict(None)) is None


def test_a_retraction_names_the_turn_it_takes_back_and_repeats_no_text() -> None:
    """The message may have been edited into one without feedback."""
    event = announced(placed("My number is 555-0100.", emitted="t1"), verdict(None))
    assert (event.turn_id, event.agent_id, event.verdict, event.reaction) == ("t1", "bot", None, None)
    assert (event.user_said, event.rules, event.correction_type, event.target) == ("", (), None, None)


def test_the_same_look_makes_the_same_event_and_a_later_one_another() -> None:
    first = announced(placed(), verdict(TARGET))
    assert announced(placed(), verdict(TARGET)) == first
    assert announced(placed(emitted="t1"), verdict(None)).event_id == first.event_id, "the evaluation decides"


def test_an_event_names_epoch_and_detector_and_another_of_either_makes_another_event() -> None:
    first = announced(placed(), verdict(TARGET))
    assert (first.epoch, first.detector_version, first.decided_by) == (0, VERSION, "rules")
    again = announced(replace(placed(), epoch=7), verdict(TARGET))
    other = announced(placed(), verdict(TARGET), version="2026-11-24.00000000")
    assert (again.epoch, other.detector_version) == (7, "2026-11-24.00000000")
    assert len({first.event_id, again.event_id, other.event_id}) == 3
