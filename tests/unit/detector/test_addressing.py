"""Addressed answer of a message: by its reply, its thread and its writer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from detector.addressing import Address, Exchange, addressed, in_scope, questions_of
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


def test_a_reply_to_an_answer_is_about_that_answer(detector: Detector) -> None:
    verdict = judge(detector, *answers(*REPLIES), said("q3", "kai", "That's wrong", reply_to="a1"))
    assert verdict.target is not None
    assert (verdict.target.message_id, verdict.target.rule, verdict.target.turns_back) == ("a1", "named", 2)


@pytest.mark.parametrize("reply_to", ["q2", "gone"])
def test_a_reply_to_a_person_or_to_something_unknown_says_nothing_of_an_answer(
    detector: Detector, reply_to: str
) -> None:
    verdict = judge(detector, *answers(*REPLIES), said("q3", "eva", "No, that's wrong", reply_to=reply_to))
    assert (verdict.feedback, verdict.target, verdict.emitted) == ("neutral", None, False)


def test_where_everything_replies_to_one_unknown_message_the_latest_answer_is_meant(detector: Detector) -> None:
    """A platform marks a topic by replies to a notice that nobody publishes."""
    topic = (
        said("q1", "eva", "Which tram goes to the zoo?", reply_to="notice"),
        said("a1", "bot", "Tram 4.", reply_to="notice"),
        said("a2", "bot", "Every ten minutes.", reply_to="notice"),
    )
    verdict = judge(detector, *topic, said("q2", "eva", "No, that's wrong", reply_to="notice"))
    assert verdict.target is not None
    assert verdict.target.message_id == "a2"
    assert judge(detector, *topic, said("q2", "eva", "No, that's wrong", reply_to="gone")).target is None


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


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("@ann Tram 4.", "q1"),
        ("Ann, tram 4.", "q1"),
        ("ann: tram 4.", "q1"),
        ("ann tram 4.", "q2"),  # a bare name
        ("annex, tram 4.", "q2"),
        ("@ann", "q2"),
        ("Tram 4, ann.", "q2"),
    ],
)
def test_an_answer_that_opens_with_a_name_is_for_that_person(text: str, question: str) -> None:
    before = (said("q1", "ann", "Which tram?"), said("q2", "kai", "Who?"), said("a1", "bot", text))
    assert [one and one.message_id for one in map(questions_of(before), range(3))] == [None, None, question]


@pytest.mark.parametrize(
    ("reply_to", "thread", "turn", "question"),
    [
        ("q1", None, "q2", "q1"),  # the reply comes before the turn
        (None, None, "q1", "q1"),
        (None, None, "t9", "q3"),  # the name
        ("gone", None, "q1", "q1"),
        ("q1", "q1", "q2", "q2"),  # in a thread, a reply to the root shows only the place
        ("q2", "q1", "q1", "q2"),
    ],
)
def test_reply_turn_and_name_tell_the_question_in_this_order(
    reply_to: str | None, thread: str | None, turn: str, question: str
) -> None:
    asked = [said(f"q{n}", name, "Which?") for n, name in ((1, "ann"), (2, "kai"), (3, "eva"), (4, "ida"))]
    answer = said("a1", "bot", "@eva Tram 4.", reply_to=reply_to, thread=thread, turn=turn)
    found = questions_of((*asked, answer))(4)
    assert found is not None and found.message_id == question


def test_an_answer_before_any_question_has_none() -> None:
    hello = said("a0", "bot", "Good morning.")
    assert questions_of((hello, said("q1", "ann", "Hi", at=1)))(0) is None
    address = address_of(conversation(hello, said("q1", "ann", "That's wrong")))
    assert (address.answered and address.answered.message_id, address.request, address.own) == ("a0", None, True)
    assert address_of(conversation(said("q0", "kai", "Hi"), said("q1", "ann", "That's wrong"))).answered is None


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("carl, are you coming?", True),
        ("No, are you sure?", False),
        ("bot, are you sure?", False),
        ("helper, are you sure?", False),
        ("ok, kai, that's wrong", False),
        ("kai, can you help?", True),
        ("eva, can you help?", True),  # a name that nobody has here, though the writer is called so
        ("@bot that's wrong", False),
    ],
)
def test_a_call_is_no_opening_word_and_no_agents_name(text: str, called: bool) -> None:
    agent = Message("a1", "q1", "bot", "agent", "helper", "Tram 4.", 0)
    before = (said("q0", "kai", "Who?"), said("q1", "eva", "Which tram?"), agent)
    assert (address_of(conversation(*before, said("q2", "eva", text))).answered is None) is called


def test_the_latest_answer_to_the_writer_comes_before_a_later_one_to_another() -> None:
    before = (
        said("q1", "eva", "Which tram?"),
        said("a1", "bot", "Tram 4.", turn="q1"),
        said("q2", "kai", "Who?"),
        said("a2", "bot", "Kim.", turn="q2"),
    )
    for person, answer, request in (("eva", "a1", "q1"), ("kai", "a2", "q2"), ("ida", "a2", None)):
        address = address_of(conversation(*before, said("x", person, "That's wrong")))
        assert address.answered is not None and address.answered.message_id == answer
        assert (address.request and address.request.message_id, address.own) == (request, bool(request))
        assert address.aside is None


def test_the_latest_message_between_that_no_agent_responded_to_is_the_aside() -> None:
    asked = (said("q1", "eva", "Which tram?"), said("a1", "bot", "Tram 4.", turn="q1"))
    talk = (said("c1", "kai", "lunch?"), said("c2", "ida", "at noon"), said("c3", "eva", "fine"))
    word = said("x", "eva", "That's wrong")
    for between, aside in ((talk, "c2"), (talk[:1], "c1"), (talk[2:], None)):
        address = address_of(conversation(*asked, *between, word))
        assert (address.aside and address.aside.message_id) == aside
    answered = (said("a2", "bot", "Soup.", turn="c1"),)
    address = address_of(conversation(*asked, *talk[:1], *answered, word))
    assert (address.answered and address.answered.message_id, address.aside) == ("a1", None)


def test_the_exchange_with_an_answer_has_its_texts_and_times() -> None:
    before = (
        said("q1", "eva", "Which tram?"),
        said("a1", "bot", "Tram 4.", turn="q1"),
        said("c1", "kai", "lunch?"),
        said("q2", "eva", "And which bus?"),
        said("a2", "bot", "Bus 12.", turn="q2"),
    )
    x = Exchange.of(conversation(*before, said("x", "eva", "That's wrong")))
    assert (x.request, x.answer, x.aside, x.silence) == ("And which bus?", "Bus 12.", None, MINUTE)
    assert [one.message_id for one in x.candidates] == ["a1", "a2"]
    older = x.about("a1")
    assert (older.request, older.answer, older.address.rule, older.silence) == (
        "Which tram?", "Tram 4.", "older_named", 4 * MINUTE
    )  # fmt: skip
    alone = Exchange.of(conversation(said("x", "eva", "That's wrong")))
    assert (alone.request, alone.answer, alone.aside, alone.silence) == ("", "", None, 0)


@pytest.mark.parametrize(("later", "silence"), [(-1, 0), (0, 0), (1, 1), (MINUTE, MINUTE)])
def test_the_silence_is_the_time_since_the_answer_unless_the_clock_went_back(later: int, silence: int) -> None:
    asked, answer, word = (
        said("q", "eva", "Which tram?"),
        said("a", "bot", "4.", turn="q", at=1),
        said("x", "eva", "ok"),
    )
    x = Exchange.of(Neighbourhood((asked, answer), replace(word, at=answer.at + later)))
    assert x.answer == "4."
    assert x.silence == silence


def test_context_is_limited_to_24_messages() -> None:
    before = [said(f"m{n:02}", "eva", "Which tram?") for n in range(25)]
    assert [one.message_id for one in in_scope(conversation(*before, said("x", "eva", "no"))).before] == [
        f"m{n:02}" for n in range(1, 25)
    ]


def test_the_first_message_of_a_thread_is_its_root_under_any_id() -> None:
    """Some chats name a thread otherwise than its first message."""
    begun = (said("q1", "eva", "Which tram?", thread="t"), said("a1", "bot", "Tram 4.", thread="t"))
    for reply_to, rule in (("q1", "thread"), ("t", "thread"), ("a1", "named")):
        address = address_of(conversation(*begun, said("x", "eva", "That's wrong", reply_to=reply_to, thread="t")))
        assert (address.answered and address.answered.message_id, address.rule) == ("a1", rule)


def test_in_a_thread_below_an_answer_a_reply_to_the_root_may_be_an_aside() -> None:
    begun = (said("a0", "bot", "Good morning."), said("q1", "eva", "Which tram?", thread="a0"))
    talk = (said("a1", "bot", "Tram 4.", thread="a0"), said("c1", "kai", "lunch?", thread="a0", reply_to="a0"))
    aside = address_of(conversation(*begun, *talk, said("x", "eva", "That's wrong", thread="a0"))).aside
    assert aside is not None and aside.message_id == "c1"
