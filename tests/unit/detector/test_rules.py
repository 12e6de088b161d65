"""Tables of rules and caps: each row decides some message, has a reason in words, and is shown as it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from detector.caps import CAPS
from detector.evidence import Evidence
from detector.explain import CAP_HEADS, RULE_HEADS, cap_rows, rule_rows
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
    found = human_hits(prepare(message))
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
