"""Messages of one instant: their sequences or a reply order them; otherwise a message judges nothing."""

from __future__ import annotations

import pytest

from contracts.versions import place_in, version_of
from detector.model import NEIGHBOURHOOD
from inference.handlers import indexed
from inference.neighbours import SAME_INSTANT, message_ranges, to_judge
from inference.store import Place, Placed
from inference.turns.facts import questions_of
from tests.support.reporting_events import message


def row(name: str, at: int, sequence: int | None = None, **fields: str) -> Placed:
    """Return the index row of a message; the names of an agent's messages begin with A or a."""
    agent = "bot" if name[0] in "Aa" else None
    event = message(name, agent=agent, at=at, turn=None, sequence=sequence)
    return Placed(indexed(event.model_copy(update=fields)), 1, None, None)


def before(name: str, *rows: Placed) -> list[str]:
    """Return the ids of the messages that the verdict on a message may depend on."""
    ordered = sorted(rows, key=lambda one: one.place)
    judged = next(one for one in ordered if one.indexed.message.message_id == name)
    [span] = message_ranges([ordered], [Place(judged.indexed.conversation, *judged.place)])
    [found] = [item for placed, item in to_judge(span) if placed is judged]
    return [one.message_id for one in found.before]


def test_the_answer_to_a_message_of_the_same_instant_is_not_before_it() -> None:
    rows = [row("q1", 1, 0), row("a1", 1, 1), row("q2", 2, 0), row("a2", 2, 1)]
    assert before("q2", *rows) == ["q1", "a1"]
    assert before("q1", *rows) == []


def test_an_answer_of_the_same_instant_with_a_lower_sequence_is_before_a_message_with_a_lower_id() -> None:
    assert before("Q", row("a0", 1), row("Q", 2, 1), row("a1", 2, 0)) == ["a0", "a1"]
    assert before("Q", row("a0", 1), row("Q", 2, 0), row("a1", 2)) == ["a0", "a1"], "a missing number counts as -1"


def test_the_messages_before_are_in_the_order_of_their_sequences() -> None:
    rows = [row("q2", 2, 0), row("a2", 2, 1), row("q3", 3)]
    assert before("q3", *rows) == ["q2", "a2"]


@pytest.mark.parametrize("answer", ["a2", "azz"])
@pytest.mark.parametrize("sequence", [None, 4])
def test_nothing_is_judged_if_the_order_of_an_answer_is_unknown(answer: str, sequence: int | None) -> None:
    rows = [row("a1", 1), row("hq", 2, sequence)]
    assert before("hq", *rows) == ["a1"]
    assert before("hq", *rows, row(answer, 2, sequence)) == []


def test_a_persons_message_of_unknown_order_stays_in_the_order_of_ids() -> None:
    assert before("q2", row("a1", 1), row("q1", 2), row("q2", 2), row("q3", 2)) == ["a1", "q1"]


def test_a_reply_orders_the_two_messages() -> None:
    a1 = row("a1", 1)
    assert before("q2", a1, row("q2", 2), row("a2", 2, reply_to_message_id="q2")) == ["a1"]
    assert before("Q2", a1, row("Q2", 2, reply_to_message_id="a2"), row("a2", 2)) == ["a1", "a2"]


def test_nothing_is_judged_in_an_instant_of_more_messages_than_are_read() -> None:
    first = row("a1", 1)
    after = [row(f"r{n}", 2, n + 1) for n in range(SAME_INSTANT)]
    assert before("q", first, row("q", 2, 0), *after[1:]) == ["a1"]
    assert before("q", first, row("q", 2, 0), *after) == []
    earlier = [row(f"p{n:02}", 2, n) for n in range(NEIGHBOURHOOD)]
    assert len(before("q", first, *earlier[1:], row("q", 2, 99))) == NEIGHBOURHOOD
    assert before("q", first, *earlier, row("q", 2, 99)) == []


def test_an_answer_stored_after_a_message_of_its_instant_has_the_message_judged_again() -> None:
    rows = [row("Q", 2, 1), row("a1", 2, 0)]
    [span] = message_ranges([rows], [Place(rows[1].indexed.conversation, *rows[1].place)])
    assert [placed.indexed.message.message_id for placed, _ in to_judge(span)] == ["Q"]


def test_an_answer_of_its_own_turn_answers_the_question_of_its_instant() -> None:
    rows = sorted([row("q1", 1), row("q2", 2, 0), row("a2", 2, 1)], key=lambda one: one.place)
    [facts] = questions_of(*message_ranges([rows], [Place(rows[1].indexed.conversation, *rows[1].place)]))
    assert facts.question is not None and facts.question.message_id == "q2"


def test_the_sequence_counts_only_at_the_time_of_its_version() -> None:
    first, edit = message("q", at=1, sequence=3), message("q", at=2, sequence=5)
    assert place_in(version_of(edit)) == (edit.occurred_at, 5)
    assert indexed(first).sequence == 3
    assert indexed(message("q")).sequence == -1
    assert indexed(first).merged(indexed(edit)).sequence is None
