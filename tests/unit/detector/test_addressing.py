"""Addressed answer of a message: by its reply, its thread and its writer."""

from __future__ import annotations

import pytest

from detector.addressing import Address, addressed, in_scope, questions_of
from detector.detector import Detector
from detector.model import Message, Neighbourhood, Role, Verdict

MINUTE = 60_000_000


def said(
    name: str,
    sender: str,
    text: str,
    *,
    at: int = 0,
    reply_to: str | None = None,
    thread: str | None = None,
    turn: str | None = None,
) -> Message:
    role: Role = "agent" if sender == "bot" else "human"
    agent = sender if role == "agent" else None
    return Message(name, turn or name, sender, role, agent, text, at * MINUTE, reply_to, thread)


def conversation(*messages: Message) -> Neighbourhood:
    """Return the messages a minute apart; the last one is judged."""
    timed = [
        Message(m.message_id, m.turn_id, m.sender_id, m.role, m.agent_id, m.text, n * MINUTE, m.reply_to, m.thread_id)
        for n, m in enumerate(messages)
    ]
    return Neighbourhood(tuple(timed[:-1]), timed[-1])


def address_of(item: Neighbourhood) -> Address:
    item = in_scope(item)
    return addressed(item, questions_of(item.before))


def judge(detector: Detector, *messages: Message) -> Verdict:
    return detector.judge([conversation(*messages)])[0]


BOTH = (
    said("q1", "eva", "Which tram goes to the zoo?"),
    said("q2", "kai", "Who waters the plants in August?"),
)


def answers(first: Message, second: Message) -> tuple[Message, ...]:
    return (*BOTH, first, second)


PLAIN = (said("a1", "bot", "Tram 4, every ten minutes."), said("a2", "bot", "Kim from the front desk."))
REPLIES = (
    said("a1", "bot", "Tram 4, every ten minutes.", reply_to="q1"),
    said("a2", "bot", "Kim from the front desk.", reply_to="q2"),
)
TURNS = (
    said("a1", "bot", "Tram 4, every ten minutes.", turn="q1"),
    said("a2", "bot", "Kim from the front desk.", turn="q2"),
)
NAMES = (said("a1", "bot", "@eva Tram 4."), said("a2", "bot", "<@kai> Kim from the front desk."))


@pytest.mark.parametrize("given", [REPLIES, TURNS, NAMES], ids=["reply", "turn", "name"])
def test_an_answer_is_for_the_person_it_names(detector: Detector, given: tuple[Message, Message]) -> None:
    for person, answer in (("eva", "a1"), ("kai", "a2")):
        verdict = judge(detector, *answers(*given), said("q3", person, "That's wrong"))
        assert verdict.target is not None
        assert (verdict.feedback, verdict.target.message_id, verdict.target.rule) == ("rejected", answer, "own_latest")


def test_an_answer_that_names_nobody_is_for_the_last_who_spoke(detector: Detector) -> None:
    verdict = judge(detector, *answers(*PLAIN), said("q3", "kai", "That's wrong"))
    assert verdict.target is not None
    assert verdict.target.message_id == "a2"


def test_a_reply_to_an_answer_is_about_that_answer(detector: Detector) -> None:
    verdict = judge(detector, *answers(*REPLIES), said("q3", "kai", "That's wrong", reply_to="a1"))
    assert verdict.target is not None
    assert (verdict.target.message_id, verdict.target.rule, verdict.target.turns_back) == ("a1", "named", 2)


def test_a_reply_to_ones_own_question_is_about_its_answer(detector: Detector) -> None:
    verdict = judge(detector, *answers(*REPLIES), said("q3", "eva", "No, that's wrong", reply_to="q1"))
    assert verdict.target is not None
    assert (verdict.target.message_id, verdict.target.rule) == ("a1", "named")


@pytest.mark.parametrize("reply_to", ["q2", "gone"])
def test_a_reply_to_a_person_or_to_something_unknown_says_nothing_of_an_answer(
    detector: Detector, reply_to: str
) -> None:
    verdict = judge(detector, *answers(*REPLIES), said("q3", "eva", "No, that's wrong", reply_to=reply_to))
    assert (verdict.feedback, verdict.target, verdict.emitted) == ("neutral", None, False)


def test_in_a_thread_a_reply_to_the_root_shows_the_place(detector: Detector) -> None:
    verdict = judge(
        detector,
        said("q1", "eva", "Which tram goes to the zoo?"),
        said("a1", "bot", "Tram 4.", reply_to="q1", thread="q1"),
        said("q2", "eva", "And to the pool?", reply_to="q1", thread="q1"),
        said("a2", "bot", "Bus 12.", reply_to="q1", thread="q1"),
        said("q3", "eva", "No, that's wrong", reply_to="q1", thread="q1"),
    )
    assert verdict.target is not None
    assert (verdict.target.message_id, verdict.target.rule) == ("a2", "thread")


def test_a_thread_is_a_conversation_of_its_own() -> None:
    messages = (
        said("r1", "eva", "Which tram goes to the zoo?"),
        said("r2", "eva", "Who waters the plants?"),
        said("a1", "bot", "Tram 4.", thread="r1"),
        said("a2", "bot", "Kim.", thread="r2"),
        said("a0", "bot", "Good morning, everybody."),
    )
    for thread, wanted in (("r1", ["r1", "a1"]), ("r2", ["r2", "a2"]), (None, ["r1", "r2", "a0"])):
        item = conversation(*messages, said("x", "eva", "That's wrong", thread=thread))
        assert [one.message_id for one in in_scope(item).before] == wanted
        assert address_of(item).answered is not None


def test_a_message_that_opens_a_thread_stands_in_the_channel() -> None:
    before = (said("q1", "eva", "Which tram?"), said("a1", "bot", "Tram 4."))
    item = conversation(*before, said("x", "eva", "That's wrong", thread="x"))
    assert [one.message_id for one in in_scope(item).before] == ["q1", "a1"]


def test_who_has_no_answer_is_not_heard_unless_they_plainly_speak_of_it(detector: Detector) -> None:
    asked = (said("q1", "eva", "Which tram goes to the zoo?"), said("a1", "bot", "Tram 4, every ten minutes."))
    for text in ("Which tram goes to the zoo please?", "never mind, I'll be late", "thanks, perfect"):
        assert not judge(detector, *asked, said("q2", "kai", text)).emitted, text
    joins = judge(detector, *asked, said("q2", "ida", "hm, not today"), said("q3", "kai", "Same here, it's wrong"))
    assert joins.target is not None
    assert (joins.feedback, joins.target.message_id) == ("rejected", "a1")


@pytest.mark.parametrize(
    ("aside", "text"),
    [
        ("eva, are you coming to the pool?", "no, that's wrong"),
        ("eva do you have my keys?", "no, that's wrong"),
        ("lunch?", "never mind"),
    ],
)
def test_what_answers_another_person_says_nothing_of_an_answer(detector: Detector, aside: str, text: str) -> None:
    asked = (said("q1", "eva", "Which tram goes to the zoo?"), said("a1", "bot", "Tram 4, every ten minutes."))
    assert judge(detector, *asked, said("q3", "eva", text)).emitted
    assert not judge(detector, *asked, said("q2", "kai", aside), said("q3", "eva", text)).emitted


@pytest.mark.parametrize(
    "text", ["kai, that's wrong", "@kai that's wrong", "carl, are you coming to lunch? never mind"]
)
def test_a_message_that_calls_a_person_is_addressed_to_no_answer(text: str) -> None:
    asked = (
        said("q0", "kai", "Who waters the plants?"),
        said("a0", "bot", "Kim."),
        said("q1", "eva", "Which tram goes to the zoo?"),
        said("a1", "bot", "Tram 4."),
    )
    assert address_of(conversation(*asked, said("q2", "eva", text))).answered is None
    assert address_of(conversation(*asked[2:], said("q2", "eva", text))).answered is not None, "nobody else takes part"


def test_a_request_is_reworded_only_by_who_made_it(detector: Detector) -> None:
    asked = (
        said("q1", "eva", "list cheap hotels near the central station"),
        said("a1", "bot", "The central station was built in 1890."),
    )
    again = "could you list cheap hotels close to the central station"
    assert judge(detector, *asked, said("q2", "eva", again)).correction_type == "rephrased"
    assert judge(detector, *asked, said("q2", "kai", again)).feedback == "neutral"


def test_another_persons_reply_to_the_agent_is_not_talk_to_the_writer() -> None:
    asked = [said("q1", "ann", "When does it open?"), said("a1", "bot", "At nine.", turn="q1")]
    word = said("w1", "ann", "No, that is wrong, I asked about Sunday.")
    assert address_of(conversation(*asked, said("r1", "cem", "Thanks!", reply_to="a1"), word)).aside is None
    spoken = address_of(conversation(*asked, said("r1", "cem", "Thanks!"), word)).aside
    assert spoken is not None and spoken.message_id == "r1"
