"""Messages without a verdict: by a client program, in an unsupported language, approvals with a failure, tasks."""

from __future__ import annotations

import pytest

from detector.caps import HELD
from detector.detector import Detector
from detector.evidence import Evidence
from detector.explain import explain
from detector.learned import Opinion
from detector.patterns import agent_hits, human_hits, kinds
from detector.rules import Decision, decide
from detector.text import prepare

ANSWER = "I have added the login page, and all tests pass."
APPROVAL = Opinion((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), ())


REJECTION = Opinion((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), ())
FOLLOW_UP = Opinion((0.0, 0.0, 0.0, 0.0, 1.0, 0.0), ())


def decided(message: str, opinion: Opinion | None = APPROVAL, language: str = "en") -> Decision:
    """Return the decision on a message that the learned layer reads with certainty, by default as an approval."""
    found = human_hits(prepare(message), language)
    texts = prepare(message), prepare("add a login page"), prepare(ANSWER)
    seen = Evidence(*texts, found, kinds(found), kinds(agent_hits(prepare(ANSWER))), language=language)
    return decide(seen, opinion)


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
        "perfect, 503 now",
        "thanks, now it answers 404",
        "cool, the button does nothing at all",
        "nice, you outdid yourself",
    ],
)
def test_an_approval_with_a_failure_a_negation_or_irony_is_none(message: str) -> None:
    found = decided(message)
    assert (found.gate, found.rules[:1]) == ("neutral", ("rule.mixed",))


@pytest.mark.parametrize(
    "message", ["thanks, no more errors", "not bad at all, thanks", "great, you fixed the bug", "thanks, 404 rooms"]
)
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
        "Try Again",
        "[Image #2]",
        '[{"tool_use_id": "toolu_1", "type": "tool_result", "content": "no such file"}]',
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "[replace_in_file for 'src/main.py'] Result:\nNo match found.",
        "<feedback>\nThe user denied this operation.\n</feedback>",
        "User aborted the command.",
        "I ran this command:\n\nmake test\n\nAnd got this output:\n\n1 failed",
        '{"rooms": [{"name": "Harbour view", "beds": 2}], "breakfast": false}',
        ' ["1: button Leave", "2: group missing value"]\n',
        '{"1: button Leave", "2: group missing value"}',
    ],
)
def test_what_a_client_wrote_says_nothing(text: str, detector: Detector) -> None:
    verdict = explain(text, "add a login page", ANSWER, detector)
    assert (verdict.feedback, verdict.rules, verdict.settled) == ("neutral", ("rule.machine_text",), True)
    assert verdict.held_back == "machine_text"


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user] no, use the other file",
        "Implement the plan. But leave the tests out",
        "@agent try to find out why it fails",
        "try again",
        "I ran this command and it fails",
        "/tmp/x.log is still empty",
        '{"detail": "Internal server error"}',
        '{"rooms": []} is wrong',
        "[still not printing]",
        '["harbour view" is the wrong room',
    ],
)
def test_what_a_person_wrote_after_it_is_judged(text: str, detector: Detector) -> None:
    assert explain(text, "add a login page", ANSWER, detector).rules != ("rule.machine_text",)


@pytest.mark.parametrize(
    "message", ["to nie jest to, co chcialem", "dat is niet wat ik wilde", "det er ikke det jeg ville have"]
)
def test_a_message_in_another_language_abstains_and_says_so(message: str, detector: Detector) -> None:
    verdict = explain(message, "add a login page", ANSWER, detector)
    assert (verdict.feedback, verdict.rules, verdict.held_back) == ("neutral", ("abstained.language",), "language")


@pytest.mark.parametrize(
    "message",
    [
        "commit that, but do not push",
        "ok, now add a footer, not the old one",
        "define a constant instead of using this literal 5 times",
    ],
)
def test_a_task_with_a_negation_is_no_sure_rejection(message: str) -> None:
    found = decided(message, REJECTION)
    assert (found.feedback, found.confidence, found.rules[:1]) == ("rejected", HELD, ("rule.orders_on",))


@pytest.mark.parametrize("message", ["use the old one, that's wrong", "i did not want this, remove it"])
def test_a_task_with_a_complaint_stays_a_rejection(message: str) -> None:
    assert decided(message, REJECTION).confidence > HELD


@pytest.mark.parametrize(
    "message",
    [
        "that's exactly right. write one for the other page",
        "it works. where do i find the setting?",
        "great, that fixed it! well done! now please do the same for the logout page",
        "thank you, it's a good page; make the header blue",
        "it works. thank you, it's a good page. where do i find the setting?",
        "it works. i need a footer. where do i find the setting?",
    ],
)
def test_praise_before_the_next_request_is_approval(message: str) -> None:
    found = decided(message, FOLLOW_UP)
    assert (found.rule, found.gate, found.confidence) == ("rule.praises_and_goes_on", "ok", 0.7)


@pytest.mark.parametrize(
    "message",
    [
        "great! how much is it?",
        "that sounds good. what is the address?",
        "does it make sense to show both? we need one",
        "that's good. the header of the page is 40 pixels high and the footer is 20",
        "no, thank you for that. can you find another?",
        "it works. where do i find the setting? the footer of the page is 20 pixels high",
        "it works. the footer of the page is 20 pixels high. where do i find the setting?",
        "where do i find the setting? it works",
    ],
)
def test_a_courtesy_a_question_or_a_remark_is_no_praise_before_a_request(message: str) -> None:
    assert decided(message, FOLLOW_UP).rule == "learned"


def test_praise_before_a_request_that_speaks_of_a_failure_is_not_announced() -> None:
    found = decided("thank you, it's a good page. can you fix the error?", FOLLOW_UP)
    assert (found.rule, found.gate) == ("rule.praises_and_goes_on", "neutral")


@pytest.mark.parametrize("message", ["不", "不是"])
def test_a_short_chinese_no_rejects(message: str) -> None:
    assert decided(message, None, "zh").rule == "rule.rejects"


def test_a_chinese_sentence_that_begins_with_no_is_no_bare_no() -> None:
    assert decided("不清楚这个怎么用", None, "zh").feedback != "rejected"
