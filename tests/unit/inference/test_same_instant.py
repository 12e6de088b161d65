"""Messages of one time: a reply orders them; a message of unknown order to an agent's message judges nothing."""

from __future__ import annotations

import pytest

from detector.model import NEIGHBOURHOOD
from detector.preceding import SAME_INSTANT
from inference.handlers import indexed
from inference.neighbours import message_ranges, to_judge
from inference.store import Place, Placed
from inference.turns.facts import questions_of
from tests.support.reporting_events import message


def row(name: str, at: int, sequence: int | None = None, **fields: str | None) -> Placed:
    """Return the index row of a message; the names of an agent's messages begin with A or a."""
    agent = "bot" if name[0] in "Aa" else None
    event = message(name, agent=agent, at=at, turn=None, sequence=sequence)
    return Placed(indexed(event.model_copy(update=fields)), 1, None, None)


def before(name: str, *rows: Placed) -> list[str]:
    """Return the ids of the messages that the verdict on a message may depend on."""
    ordered = sorted(rows, key=lambda one: one.place)
    judged = next(one for one in ordered if one.indexed.message.message_id == name)
    [span] = message_ranges([ordered], [Place(judged.indexed.conversation, *judged.place, judged.indexed.thread)])
    [found] = [item for placed, item in to_judge(span) if placed is judged]
    return [one.message_id for one in found.before]


def test_the_messages_before_are_in_the_order_of_their_ids() -> None:
    assert before("q3", row("a2", 2, 1), row("q2", 2, 0), row("q3", 3)) == ["a2", "q2"]


@pytest.mark.parametrize("answer", ["a2", "azz"])
@pytest.mark.parametrize("sequence", [None, 3, 4, 5])
def test_nothing_is_judged_if_the_order_of_an_answer_is_unknown(answer: str, sequence: int | None) -> None:
    rows = [row("a1", 1), row("hq", 2, sequence)]
    assert before("hq", *rows) == ["a1"]
    assert before("hq", *rows, row(answer, 2, 4)) == []


def test_a_persons_message_of_unknown_order_stays_in_the_order_of_ids() -> None:
    assert before("q2", row("a1", 1), row("q1", 2), row("q2", 2), row("q3", 2)) == ["a1", "q1"]


def test_a_reply_orders_the_two_messages() -> None:
    a1 = row("a1", 1)
    assert before("q2", a1, row("q2", 2), row("a2", 2, reply_to_message_id="q2")) == ["a1"]
    assert before("Q2", a1, row("Q2", 2, reply_to_message_id="a2"), row("a2", 2)) == ["a1", "a2"]


def test_nothing_is_judged_in_an_instant_of_more_messages_than_are_read() -> None:
    first = row("a1", 1)
    after = [row(f"r{n}", 2) for n in range(SAME_INSTANT)]
    assert before("q", first, row("q", 2), *after[1:]) == ["a1"]
    assert before("q", first, row("q", 2), *after) == []
    earlier = [row(f"p{n:02}", 2) for n in range(NEIGHBOURHOOD)]
    assert len(before("q", first, *earlier[1:], row("q", 2))) == NEIGHBOURHOOD
    assert before("q", first, *earlier, row("q", 2)) == []


@pytest.mark.parametrize("thread", [None, "t"])
def test_fewer_messages_than_a_thread_has_are_not_taken_for_its_beginning(thread: str | None) -> None:
    earlier = [row(f"m{n:02}", n, thread_id=thread) for n in range(NEIGHBOURHOOD - 1)]
    rows = [*earlier, row("a", 99, thread_id=thread, reply_to_message_id="q"), row("q", 99, thread_id=thread)]
    assert len(before("q", *rows[1:])) == NEIGHBOURHOOD - 2
    assert len(before("q", *rows)) == (0 if thread else NEIGHBOURHOOD - 1)


def test_an_answer_stored_after_a_message_of_its_instant_has_the_message_judged_again() -> None:
    rows = [row("Q", 2), row("a1", 2)]
    [span] = message_ranges([rows], [Place(rows[1].indexed.conversation, *rows[1].place)])
    assert [placed.indexed.message.message_id for placed, _ in to_judge(span)] == ["Q"]


def test_an_answer_of_its_own_turn_answers_the_question_that_it_replies_to() -> None:
    rows = [row("Q1", 1), row("a2", 2, reply_to_message_id="q2"), row("q2", 2)]
    [facts] = questions_of(*message_ranges([rows], [Place(rows[1].indexed.conversation, *rows[1].place)]))
    assert facts.question is not None and facts.question.message_id == "q2"
