"""Tables of rules and caps: each row decides some message, has a reason in words, and is shown as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from typer.testing import CliRunner

from detector import caps
from detector.caps import CAPS
from detector.evidence import Evidence
from detector.explain import CAP_HEADS, RULE_HEADS, cap_rows, rule_rows
from detector.intent import Sameness
from detector.learned import Opinion
from detector.patterns import agent_hits, human_hits, kinds
from detector.reasons import reason_in_words
from detector.rules import RULES, decide
from detector.text import prepare
from detector.vocabulary import SESSION_TIMEOUT_US
from docgen.rules_page import PAGE, text
from standalone.cli.app import app

WALK = "The harbour walk takes a day."
COLOUR = "Which colour would you like?"
PROPOSAL = "Would you like me to book it?"
CLOSING = "Is there anything else I can help you with?"
CHEAP = "cheap hotels in Paris please"
ALIKE = {"similarity": 0.95, "same_intent": 0.9}


def evidence(message: str, answer: str = WALK, request: str = "a walk at the harbour", **facts: object) -> Evidence:
    found = human_hits(prepare(message), str(facts.get("language", "en")))
    texts = (prepare(message), prepare(request), prepare(answer))
    facts = {"similarity": 0.5, **facts}
    return Evidence(*texts, found, kinds(found), kinds(agent_hits(prepare(answer))), **facts)  # type: ignore[arg-type]


DECIDED: Sequence[tuple[str, Evidence]] = (
    ("rule.machine_text", evidence("/compact")),
    ("rule.nothing_to_judge", evidence("🙂")),
    ("rule.nothing_to_judge", evidence("that's wrong", answered=False)),
    ("rule.declines_offer", evidence("no, not now", PROPOSAL)),
    ("rule.declines_offer", evidence("No, sorry", PROPOSAL)),
    ("rule.outweighs", evidence("thanks, but that's wrong")),
    ("rule.for_and_against", evidence("thanks, that's too expensive")),
    ("rule.rejects_finally", evidence("a bit too long", "How about the harbour walk?")),
    ("rule.rejects", evidence("that's wrong")),
    ("rule.silence", evidence("thanks", silence=SESSION_TIMEOUT_US + 1)),
    ("rule.resent", evidence("a walk at the harbour", COLOUR)),
    ("abstained.language", evidence("to nie jest to", language="other")),
    ("rule.other_request", evidence("cheap hotels in Rome please", "Three hotels in Paris.", CHEAP, **ALIKE)),
    ("rule.other_request", evidence("hotels under 50 please", WALK, "hotels over 40 please", **ALIKE)),
    ("rule.same_request", evidence("inexpensive hotels in Paris please", WALK, CHEAP, **ALIKE)),
    ("rule.gives_up_politely", evidence("thanks anyway, forget it")),
    ("rule.gives_up", evidence("forget it")),
    ("rule.agrees", evidence("yes, please", PROPOSAL)),
    ("rule.closes_with_thanks", evidence("no, thanks, that's all", CLOSING)),
    ("rule.closes", evidence("no", CLOSING)),
    ("rule.puzzled", evidence("what do you mean?")),
    ("rule.asks_agent", evidence("so, do you have any pets?")),
    ("rule.acknowledges", evidence("ok")),
    ("rule.new_topic", evidence("how do magnets work?", similarity=0.05)),
    ("rule.praises_and_goes_on", evidence("that works now. can you add a map?")),
    ("rule.thanks_in_answer", evidence("thanks a lot", COLOUR)),
    ("rule.thanks", evidence("thanks a lot")),
    ("rule.approves_in_answer", evidence("thanks, but is it open?", COLOUR)),
    ("rule.approves", evidence("thanks, but is it open?")),
    ("rule.follows", evidence("what about the tunnel?")),
    ("rule.leans_against", evidence("hmm, not my taste, boring")),
    ("rule.leans_for", evidence("yes, good colours")),
    ("rule.hints_for", evidence("good colours")),
    ("rule.nothing", evidence("the tunnel")),
)
REJECTION = Opinion((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), ())
APPROVAL = Opinion((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), ())
CAPPED: Sequence[tuple[str, Evidence, Opinion]] = (
    ("is_answer_to_question", evidence("the red one", COLOUR), REJECTION),
    ("asks_for_other_detail", evidence("the walk in 2 hours", request="the walk in 3 hours"), REJECTION),
    ("is_order", evidence("continue with the tunnel"), REJECTION),
    ("is_about_subject", evidence("too bad, the tunnel is closed"), REJECTION),
    ("is_about_code", evidence("the tunnel", "```\ncode\n```"), REJECTION),
    ("has_final_question", evidence(f"my mother came {'very ' * 15}late, is the tunnel open?"), REJECTION),
    ("is_thankless_answer", evidence("the red one", COLOUR), APPROVAL),
    ("has_contradiction", evidence("the colours crash it"), APPROVAL),
)


@pytest.mark.parametrize(("name", "seen"), DECIDED)
def test_each_row_decides_a_message(name: str, seen: Evidence) -> None:
    assert decide(seen, None).rule == name


def test_no_row_is_without_an_example() -> None:
    assert {name for name, _ in DECIDED} == {rule.name for rule in RULES}
    assert [name for name, _, _ in CAPPED] == [cap.condition.__name__ for cap in CAPS]


@pytest.mark.parametrize(("condition", "seen", "opinion"), CAPPED)
def test_each_cap_lowers_a_decision(condition: str, seen: Evidence, opinion: Opinion) -> None:
    [cap] = [cap for cap in CAPS if cap.condition.__name__ == condition]
    decision = decide(seen, opinion)
    assert (decision.rule, decision.rules[0]) == ("learned", cap.name)
    assert (decision.confidence, decision.gate) == ((cap.cap, "not_ok") if cap.cap else (1.0, "neutral"))


def test_names_are_unique_and_have_a_reason_in_words() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert [name for name in (*names, *(cap.name for cap in CAPS), "learned") if not reason_in_words([name])] == []


def test_only_the_last_rule_has_no_condition() -> None:
    assert [rule.name for rule in RULES if not rule.conditions] == [RULES[-1].name]


def test_the_page_shows_the_tables() -> None:
    page = PAGE.read_text("utf-8")
    assert text(page) == page, "run `make docs`"
    assert all(page.count(f"| {' | '.join(row)} |") == 1 for row in (RULE_HEADS, CAP_HEADS, *rule_rows(), *cap_rows()))


def test_the_command_prints_the_tables() -> None:
    shown = CliRunner().invoke(app, ["explain", "--rules"])
    assert shown.exit_code == 0, shown.output
    lines = [line.split("  ")[0] for line in shown.output.splitlines() if line]
    assert lines == ["rule", *(rule.name for rule in RULES), "rule", *(cap.name for cap in CAPS)]


REPORTED = {
    "rule.nothing_to_judge": (),
    "rule.outweighs": ("en.is_wrong",),
    "rule.for_and_against": ("en.too_much", "en.thanks"),
    "rule.rejects_finally": ("en.too_much",),
    "rule.rejects": ("en.is_wrong", "en.bare_wrong"),
    "rule.gives_up_politely": ("en.never_mind",),
    "rule.gives_up": ("en.never_mind",),
    "rule.closes_with_thanks": ("rule.closes", "en.thanks"),
    "rule.praises_and_goes_on": ("en.that_works",),
    "rule.thanks_in_answer": ("en.thanks",),
    "rule.thanks": ("en.thanks",),
    "rule.approves_in_answer": ("en.thanks",),
    "rule.approves": ("en.thanks",),
    "rule.follows": ("en.what_about",),
    "rule.leans_against": ("en.leading_actually", "en.negated", "en.negative_word", "en.dislike"),
    "rule.leans_for": ("en.leading_yes", "en.positive_word"),
    "rule.hints_for": ("en.positive_word",),
    "rule.nothing": (),
}
"""Reasons of the rows that do not report their own names."""


@pytest.mark.parametrize(("name", "seen"), DECIDED)
def test_each_row_reports_its_reasons(name: str, seen: Evidence) -> None:
    assert decide(seen, None).rules == REPORTED.get(name, (name,))


@pytest.mark.parametrize(
    ("message", "language", "reasons"),
    [
        ("thanks, what about the tunnel?", "en", ("en.thanks", "en.what_about")),
        ("thanks, is the tunnel open?", "en", ("en.thanks",)),
        ("danke, wann ist der Tunnel offen?", "de", ("de.danke", "rule.asks_on")),
        ("danke", "de", ("de.danke",)),
    ],
)
def test_an_approval_also_reports_that_the_person_goes_on(message: str, language: str, reasons: Sequence[str]) -> None:
    assert decide(evidence(message, language=language), None).rules == reasons


@pytest.mark.parametrize(("name", "seen"), DECIDED)
def test_only_a_repeated_request_is_about_the_last_answer_for_certain(name: str, seen: Evidence) -> None:
    assert decide(seen, None).look_back is (name != "rule.same_request")


@pytest.mark.parametrize(
    ("similarity", "same_intent", "alike"),
    [(0.8, 0.9, False), (0.801, 0.7, True), (0.801, 0.699, False), (0.9, 0.9, True), (0.0, 1.0, False)],
)
def test_a_request_is_alike_above_a_similarity_and_from_a_probability(
    similarity: float, same_intent: float, alike: bool
) -> None:
    by_words = evidence("the walk", similarity=similarity, same_intent=same_intent)
    assert by_words.is_alike is alike
    unlike: dict[str, Any] = {"similarity": 1.0 - similarity, "same_intent": 1.0 - same_intent}
    by_sentences = evidence("the walk", sentences=Sameness(similarity, same_intent), **unlike)
    assert by_sentences.is_alike is alike
    assert by_sentences.sameness == by_words.sameness == (similarity, same_intent)


def test_a_reply_is_short_up_to_eight_words_and_a_question_alone_up_to_forty() -> None:
    assert [evidence("word " * words).is_short for words in (1, 8, 9)] == [True, True, False]
    asked = [f"{'harbour ' * (words - 5)}which colour would you like?" for words in (5, 40, 41)]
    seen = [evidence("the red one", answer) for answer in asked]
    assert [len(one.answer.words) for one in seen] == [5, 40, 41]
    assert [one.asks_only for one in seen] == [one.is_answer_to_question for one in seen] == [True, True, False]


@pytest.mark.parametrize(
    ("condition", "message", "holds"),
    [
        ("is_order", "continue with the tunnel", True),
        ("is_order", "continue, that is wrong", False),
        ("is_order", "write a poem", True),
        ("is_order", "write a poem, that is wrong", False),
        ("is_order", "the tunnel", False),
        ("is_about_subject", "too bad, the tunnel is closed", True),
        ("is_about_subject", "the tunnel is closed, by the way", True),
        ("is_about_subject", "too bad, you closed the tunnel", False),
        ("is_about_subject", "too bad, that is wrong", False),
        ("is_about_subject", "the tunnel is closed", False),
        ("has_final_question", f"my mother came {'very ' * 10}late, is it?", True),
        ("has_final_question", f"my mother came {'very ' * 9}late, is it?", False),
        ("has_final_question", f"my mother came {'very ' * 10}late, it is.", False),
        ("has_final_question", f"that is wrong, my mother came {'very ' * 10}late, is it?", False),
        ("has_contradiction", "it works, but the page is missing", True),
        ("has_contradiction", "thanks, it returns 404", True),
        ("has_contradiction", "thanks, how original", True),
        ("has_contradiction", "thanks, not today", True),
        ("has_contradiction", "Thanks! Traceback (most recent call last)", True),
        ("has_contradiction", "thanks, no errors", False),
        ("has_contradiction", "not bad, thanks", False),
        ("has_contradiction", "it works, thanks", False),
    ],
)
def test_a_cap_holds_for_one_message_and_not_for_its_neighbour(condition: str, message: str, holds: bool) -> None:
    assert getattr(caps, condition)(evidence(message)) is holds


@pytest.mark.parametrize(
    ("message", "swapped"),
    [
        ("cheap family hotels in Rome please", True),
        ("cheap family hostels in Rome please", True),
        ("cheap quiet hostels in Rome please", False),
        ("cheap family hotels please", False),
        ("cheap family hotels in Paris and Rome please", False),
        ("cheap family hotels near quiet beaches in Rome please", False),
        ("cheap family hotels in Paris please, quiet", False),
    ],
)
def test_a_request_about_something_else_replaces_one_or_two_words(message: str, swapped: bool) -> None:
    assert evidence(message, request="cheap family hotels in Paris please").has_swapped_words is swapped
