"""Rules of turns, with hand-written expectations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from detector.model import Feedback, Message, Role
from detector.rules import SESSION_TIMEOUT_US
from inference.neighbours import message_ranges
from inference.store import ConversationKey, IndexedMessage, Place, Placed
from inference.turns.facts import Facts, Question, Reply, joined, looked_at, questions_of
from inference.turns.rules import (
    MachineStatus,
    Turn,
    TurnKey,
    UserStatus,
    ranked,
    ranking_score,
    rejections_in_a_row,
    satisfaction,
    session_over,
)

MINUTE = 60_000_000


def turn(name: str, status: Feedback = "neutral", **fields: Any) -> Turn:
    word = MachineStatus(status, 0.9, "explicit" if status == "rejected" else None, "words", "t9", "m9", "rules")
    return Turn(TurnKey("acme", "p", "c", name), machine=word, **fields)


@pytest.mark.parametrize(
    ("outcome", "status", "expected"),
    [
        ("APPROVE", "neutral", 0.5),
        ("REVISE", "neutral", 0.3),
        ("RETRY", "neutral", 0.1),
        ("FAIL", "neutral", -0.5),
        (None, "neutral", 0.0),
        ("APPROVE", "accepted", 1.0),
        ("REVISE", "accepted", 0.8),
        ("RETRY", "accepted", 0.6),
        ("FAIL", "accepted", 0.0),
        (None, "accepted", 0.5),
        ("APPROVE", "rejected", -1.0),
        (None, "rejected", -1.0),
    ],
)
def test_satisfaction(outcome: str | None, status: Feedback, expected: float) -> None:
    assert satisfaction(outcome, status) == expected


@pytest.mark.parametrize(
    ("quality", "status", "expected"),
    [
        (1.0, "accepted", 0.8),
        (0.5, "neutral", 0.3),
        (0.5, "rejected", -0.1),
        (None, "rejected", -0.4),
        (0.0, "accepted", 0.2),
    ],
)
def test_ranking_score(quality: float | None, status: Feedback, expected: float) -> None:
    assert ranking_score(quality, status) == expected


def test_ranking_is_by_group_then_quality_then_time() -> None:
    turns = [
        turn("neutral-best", quality_score=1.0),
        turn("rejected", "rejected", quality_score=1.0),
        turn("accepted-unmeasured", "accepted", at=99),
        turn("accepted-old", "accepted", quality_score=0.4, at=1),
        turn("accepted-new", "accepted", quality_score=0.4, at=2),
    ]
    names = ["accepted-new", "accepted-old", "accepted-unmeasured", "neutral-best"]
    assert [one.key.turn_id for one in ranked(turns, 9)] == names
    assert [one.key.turn_id for one in ranked(turns, 2)] == names[:2]


def test_of_equal_quality_the_more_similar_turn_comes_first_then_the_later_then_the_lesser_id() -> None:
    best_first = [
        turn("similar", quality_score=0.5, similarity=0.9, at=1),
        turn("later", quality_score=0.5, similarity=0.4, at=9),
        turn("a", quality_score=0.5, similarity=0.4, at=2),
        turn("b", quality_score=0.5, similarity=0.4, at=2),
        turn("untimed", quality_score=0.5, similarity=0.4),
        turn("not compared", quality_score=0.5, at=99),
        turn("worst", quality_score=0.0, similarity=1.0),
        turn("unmeasured", similarity=1.0, at=99),
    ]
    for order in (best_first, best_first[::-1]):
        assert ranked(order, 9) == best_first
    assert ranked(best_first, 1) == best_first[:1]


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        (None, ("words", 7, "t9")),
        (UserStatus("rejected", "Wrong.", (), None, 5), ("Wrong.", 5, None)),
        (UserStatus("rejected", "", (), None, 5), ("words", 5, None)),
        (UserStatus("accepted", "Fine.", (), None, 5), ("Fine.", 5, None)),
        (UserStatus("accepted", "", (), None, 0), (None, 0, None)),
    ],
)
def test_the_explanation_of_a_status_is_the_persons_before_the_machines(
    user: UserStatus | None, shown: tuple[str | None, int, str | None]
) -> None:
    word = MachineStatus("rejected", 0.9, "explicit", "words", "t9", "m9", "rules", at=7)
    found = Turn(TurnKey("acme", "p", "c", "t"), machine=word, user=user)
    assert (found.user_said, found.detected_at, found.detected_in) == shown
    alone = replace(found, machine=None)
    without_machine = (user.said or None, user.at, None) if user else (None, None, None)
    assert (alone.user_said, alone.detected_at, alone.detected_in) == without_machine


def test_the_persons_judgement_is_shown_and_the_machines_reasons_where_they_agree() -> None:
    agreed = turn("t", "rejected", user=UserStatus("rejected", None, (), None, 1))
    assert (agreed.status, agreed.confidence, agreed.rejection_detected_in) == ("rejected", 1.0, "t9")
    assert (agreed.user_said, agreed.correction_type) == ("words", "explicit")
    other = turn("t", "rejected", user=UserStatus("accepted", None, (), None, 1))
    assert (other.status, other.rejection_detected_in, other.user_said, other.correction_type) == (
        "accepted",
        None,
        None,
        None,
    )
    untold = Turn(TurnKey("acme", "p", "c", "t"))
    assert (untold.status, untold.confidence, untold.user_said) == ("neutral", 0.5, None)


def test_a_session_ends_after_half_an_hour_of_silence() -> None:
    assert not session_over(0, SESSION_TIMEOUT_US)
    assert session_over(0, SESSION_TIMEOUT_US + 1)
    assert not session_over(10**15, 0)
    assert not session_over(None, 10**15)


def test_rejections_in_a_row_end_with_another_status_or_another_session() -> None:
    newest_first = [
        turn("c", "rejected", at=40 * MINUTE),
        turn("b", "rejected", at=30 * MINUTE),
        turn("a", at=20 * MINUTE),
    ]
    assert rejections_in_a_row(newest_first, 45 * MINUTE) == 2
    assert rejections_in_a_row(newest_first[1:], 45 * MINUTE) == 1
    assert rejections_in_a_row(newest_first, 71 * MINUTE) == 0
    assert rejections_in_a_row([turn("c", "rejected", at=61 * MINUTE), *newest_first[1:]], 62 * MINUTE) == 1
    assert rejections_in_a_row([], 0) == 0
    without_pause = [turn(name, "rejected", at=at * MINUTE) for name, at in (("d", 60), ("c", 40), ("b", 20), ("a", 0))]
    assert rejections_in_a_row(without_pause, 61 * MINUTE) == 4


def test_an_answer_that_is_its_own_turn_answers_the_latest_question_before_it() -> None:
    where = ConversationKey("acme", "p", "c")
    said: list[tuple[str, Role, str]] = [
        ("q0", "human", "q0"),
        ("q1", "human", "q1"),
        ("a1", "agent", "a1"),
        ("a2", "agent", "t7"),
    ]
    rows = [
        Placed(IndexedMessage(where, Message(name, own, "who", role, None, f"text {name}", at), b""), 4, None, None)
        for at, (name, role, own) in enumerate(said)
    ]
    [facts] = questions_of(*message_ranges([rows], [Place(where, 1, "q1")]))
    assert facts.key.turn_id == "a1"
    assert facts.question is not None
    assert (facts.question.text, facts.question.version) == ("text q1", looked_at(4))
    assert questions_of(*message_ranges([rows], [Place(where, 9, "z")])) == []


def test_an_erased_message_is_no_question() -> None:
    where = ConversationKey("acme", "p", "c")
    said: list[tuple[str, Role, str]] = [("q1", "human", ""), ("a1", "agent", "At nine.")]
    rows = [
        Placed(IndexedMessage(where, Message(name, name, "erased-7", role, None, text, at), b""), 4, None, None)
        for at, (name, role, text) in enumerate(said)
    ]
    [facts] = questions_of(*message_ranges([rows], [Place(where, 0, "q1")]))
    assert facts.question == Question(looked_at(4))


def test_of_facts_of_equal_rank_the_ones_that_are_held_stay() -> None:
    key = TurnKey("acme", "p", "c", "t")
    first, second = (Reply(b"1", "a1", "bot", "At nine.", strategy=name) for name in ("lookup", "guess"))
    later = Reply(b"2", "a1", "bot", "At ten.")
    held = Facts(key, 5, reply=first)
    assert held.joined(Facts(key, 4, reply=second)) == Facts(key, 4, reply=first)
    assert held.joined(Facts(key, 6, reply=later)) == Facts(key, 5, reply=later)
    assert held.joined(Facts(key)) == Facts(key).joined(held) == held
    assert Facts(key).joined(Facts(key)) == Facts(key)


def test_facts_of_turns_are_joined_per_turn_in_the_order_of_their_keys() -> None:
    facts = [Facts(TurnKey("acme", "p", "c", name), at) for name, at in (("t2", 3), ("t1", 9), ("t2", 1))]
    assert [(one.key.turn_id, one.at) for one in joined(facts)] == [("t1", 9), ("t2", 1)]
