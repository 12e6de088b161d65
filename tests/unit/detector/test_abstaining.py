"""Messages without a verdict: by a client program, in an unsupported language, or approvals with a failure."""

from __future__ import annotations

import pytest

from detector.detector import Detector
from detector.evidence import Evidence
from detector.explain import explain
from detector.learned import Opinion
from detector.patterns import agent_hits, human_hits, kinds
from detector.rules import Decision, decide
from detector.text import prepare

ANSWER = "I have added the login page, and all tests pass."
APPROVAL = Opinion((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), ())


def decided(message: str) -> Decision:
    """Return the decision on a message that the learned layer reads as an approval with certainty."""
    found = human_hits(prepare(message))
    texts = prepare(message), prepare("add a login page"), prepare(ANSWER)
    return decide(Evidence(*texts, found, kinds(found), kinds(agent_hits(prepare(ANSWER)))), APPROVAL)


@pytest.mark.parametrize(
    "message",
    [
        "thanks, but I get a 404",
        "great, another error",
        "perfect, it fails on startup",
        "thanks for deleting my file",
        "nice, it does not start",
        "oh great, the page again",
        "thanks for nothing",
    ],
)
def test_an_approval_with_a_failure_a_negation_or_irony_is_none(message: str) -> None:
    found = decided(message)
    assert (found.gate, found.rules[:1]) == ("neutral", ("rule.mixed",))


@pytest.mark.parametrize("message", ["thanks, no more errors", "not bad at all, thanks", "great, you fixed the bug"])
def test_a_failure_that_is_over_speaks_against_no_approval(message: str) -> None:
    assert decided(message).gate == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]\n",
        '@agent Continue: "Continue to iterate?"',
        "@agent Try Again",
        "/compact",
        "<command-name>/model</command-name>\n<command-args></command-args>",
        "<local-command-stdout>Goodbye!</local-command-stdout>",
        "Implement the plan.",
    ],
)
def test_what_a_client_wrote_says_nothing(text: str, detector: Detector) -> None:
    verdict = explain(text, "add a login page", ANSWER, detector)
    assert (verdict.feedback, verdict.rules, verdict.settled) == ("neutral", ("rule.machine_text",), True)


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user] no, use the other file",
        "Implement the plan. But leave the tests out",
        "@agent try to find out why it fails",
        "/tmp/x.log is still empty",
    ],
)
def test_what_a_person_wrote_after_it_is_judged(text: str, detector: Detector) -> None:
    assert explain(text, "add a login page", ANSWER, detector).rules != ("rule.machine_text",)


@pytest.mark.parametrize(
    "message", ["to nie jest to, co chcialem", "dat is niet wat ik wilde", "det er ikke det jeg ville have"]
)
def test_a_message_in_another_language_abstains_and_says_so(message: str, detector: Detector) -> None:
    verdict = explain(message, "add a login page", ANSWER, detector)
    assert (verdict.feedback, verdict.rules, verdict.emitted) == ("neutral", ("abstained.language",), False)
