"""The person's message that an agent's message answers, and the answer that stands for a turn."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.exchange import (
    ExchangeMessage,
    Position,
    addresses,
    answer_of_turn,
    has_text,
    question_of,
    thread_of,
)


def message(
    name: str,
    sender: str,
    at: int,
    *,
    text: str = "text",
    turn: str | None = None,
    thread: str = "",
    reply_to: str | None = None,
    sequence: int = -1,
    logged: int = 0,
) -> ExchangeMessage:
    position = Position(at, sequence, logged)
    is_person = not sender.startswith("bot")
    return ExchangeMessage(name, turn or name, thread, sender, is_person, has_text(text), position, reply_to, text)


def question(answer: ExchangeMessage, *messages: ExchangeMessage) -> str | None:
    found = question_of(answer, (*messages, answer))
    assert question_of(answer, (answer, *reversed(messages))) == found, "the order of arrival does not matter"
    return None if found is None else found.message_id


ANN, KAI = message("q1", "ann", 1), message("q2", "kai", 2)


@pytest.mark.parametrize(
    ("message_id", "thread_id", "thread"), [("m1", None, None), ("m1", "m1", None), ("m2", "m1", "m1")]
)
def test_the_root_of_a_thread_is_in_the_channel(message_id: str, thread_id: str | None, thread: str | None) -> None:
    assert thread_of(message_id, thread_id) == thread


def test_a_reply_comes_before_the_turn_the_turn_before_the_name_and_the_name_before_the_position() -> None:
    before = (*(message(f"q{n}", name, n) for n, name in enumerate(("ann", "kai", "eva", "ida"), 1)),)
    answer = message("a", "bot", 9, text="@eva Tram 4.", turn="q2", reply_to="q1")
    assert question(answer, *before) == "q1"
    assert question(answer._replace(reply_to=None), *before) == "q2"
    assert question(answer._replace(reply_to=None, turn_id="a"), *before) == "q3"
    assert question(answer._replace(reply_to="gone", turn_id="a", text="Tram 4."), *before) == "q4"


def test_a_reply_to_the_root_of_its_thread_points_to_no_message() -> None:
    root, later = message("r", "ann", 1), message("q", "kai", 2, thread="r")
    assert question(message("a", "bot", 3, thread="r", reply_to="r"), root, later) == "q"
    assert question(message("a", "bot", 3, thread="r", reply_to="r"), root) == "r"


def test_only_the_thread_of_the_answer_counts() -> None:
    rows = (ANN, KAI, message("q3", "eva", 3, thread="q1"), message("q4", "ida", 4, thread="q2"))
    assert question(message("a", "bot", 9, thread="q1"), *rows) == "q3"
    assert question(message("a", "bot", 9, thread="q2"), *rows) == "q4"
    assert question(message("a", "bot", 9), *rows) == "q2"
    assert question(message("a", "bot", 9, thread="q9"), *rows) is None
    assert question(message("a", "bot", 9, thread="q9", turn="q3"), *rows) == "q3", "a turn counts in any thread"


@pytest.mark.parametrize("between", ["bot", "bot-2"])
@pytest.mark.parametrize("text", ["Searching…", "(message deleted)", ""])
def test_agents_messages_are_no_questions(between: str, text: str) -> None:
    assert question(message("a", "bot", 9), ANN, message("b", between, 5, text=text)) == "q1"


@pytest.mark.parametrize("text", ["(message deleted)", "", " \n"])
def test_deleted_and_empty_messages_are_no_questions(text: str) -> None:
    gone = message("q2", "kai", 2, text=text)
    assert question(message("a", "bot", 9), ANN, gone) == "q1"
    assert question(message("a", "bot", 9, reply_to="q2"), ANN, gone) == "q1"
    assert question(message("a", "bot", 9, turn="q2"), ANN, gone) == "q1"


def test_a_name_is_looked_up_among_the_last_messages() -> None:
    answer = message("a", "bot", 99, text="ann, tram 4.")
    assert question(answer, ANN, *(message(f"k{n}", "kai", 2 + n) for n in range(23))) == "q1"
    assert question(answer, ANN, *(message(f"k{n}", "kai", 2 + n) for n in range(24))) == "k23"


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        ({}, {}, "q"),
        ({"logged": 1}, {"logged": 2}, "q"),
        ({"logged": 2}, {"logged": 1}, "q"),
        ({"sequence": 1}, {"sequence": 2}, "q"),
        ({"sequence": 2}, {"sequence": 1}, "q0"),
        ({"sequence": 2}, {}, "q"),
    ],
)
def test_question_and_answer_may_share_a_time(asked: dict[str, Any], answered: dict[str, Any], expected: str) -> None:
    earlier = (message("q0", "ann", 1), message("a0", "bot", 1))
    assert question(message("a", "bot", 5, **answered), *earlier, message("q", "ann", 5, **asked)) == expected


def test_of_two_messages_with_the_answers_time_the_one_logged_before_it_is_the_question() -> None:
    first, last = message("z", "ann", 5, logged=1), message("b", "ann", 5, logged=3)
    assert question(message("a", "bot", 5, logged=2), first, last) == "z"
    assert question(message("a", "bot", 5, logged=4), first, last) == "b"
    assert question(message("a", "bot", 5, logged=0), first, last) == "z"


def test_the_answer_of_a_turn_is_its_last_message_of_an_agent_that_has_text() -> None:
    first, last = message("z", "bot", 2), message("b", "bot-2", 3)
    assert answer_of_turn((last, ANN, first)) == last
    gone = message("c", "bot", 4, text="(message deleted)")
    assert answer_of_turn((gone, ANN, first)) == first
    assert answer_of_turn((gone, ANN)) == gone
    assert answer_of_turn((ANN,)) is None


@pytest.mark.parametrize(
    ("text", "name", "bare", "is_addressed"),
    [
        ("@ann Tram 4.", "ann", False, True),
        ("  <@ann> Tram 4.", "ann", False, True),
        ("Ann, tram 4.", "ann", False, True),
        ("ann tram 4.", "ann", False, False),
        ("ann tram 4.", "ann", True, True),
        ("annex, tram 4.", "ann", False, False),
        ("@ann", "ann", False, False),
        (", tram 4.", "", False, False),
    ],
)
def test_a_text_addresses_whom_it_names_first(text: str, name: str, bare: bool, is_addressed: bool) -> None:
    assert addresses(text, name, bare) is is_addressed


MESSAGES = st.lists(
    st.builds(
        message,
        st.sampled_from(["m1", "m2", "m3", "m4", "m5", "m6"]),
        st.sampled_from(["ann", "kai", "bot", "bot-2"]),
        st.integers(0, 4),
        text=st.sampled_from(["Hi", "@ann Hi", "(message deleted)", ""]),
        turn=st.sampled_from([None, "t1", "t2"]),
        thread=st.sampled_from(["", "m1", "m2"]),
        reply_to=st.sampled_from([None, "m1", "m2", "m3"]),
        sequence=st.integers(-1, 2),
        logged=st.integers(0, 3),
    ),
    unique_by=lambda one: one.message_id,
    max_size=6,
)


@given(MESSAGES, st.randoms(use_true_random=False))
def test_every_order_of_arrival_gives_the_same_question_by_a_person(
    messages: list[ExchangeMessage], random: Random
) -> None:
    shuffled = random.sample(messages, len(messages))
    for answer in messages:
        if answer.is_person:
            continue
        found = question_of(answer, messages)
        assert question_of(answer, shuffled) == found
        if found is None:
            continue
        assert found.is_person
        assert found.has_text
        names_it = found.message_id == answer.reply_to
        assert names_it or found.position.at <= answer.position.at
        near = answer.thread in (found.thread, found.message_id)
        assert names_it or found.turn_id == answer.turn_id or near
