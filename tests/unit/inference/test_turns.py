"""Rules of turns, with hand-written expectations."""

from __future__ import annotations

from typing import Any

import pytest

from detector.model import Feedback, Message, Role
from detector.vocabulary import SESSION_TIMEOUT_US
from inference.neighbours import message_ranges
from inference.store import ConversationKey, IndexedMessage, Place, Placed
from inference.turns.facts import looked_at, questions_of
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
