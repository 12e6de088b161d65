"""Rules of turns, with hand-written expectations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.message_fields import MessageKey, TurnKey
from detector.detector import Detector
from detector.encoders.embedder import Vectors, WordLlamaEmbedder
from detector.model import Feedback, Message, Role
from detector.rules import SESSION_TIMEOUT_US
from inference.model import ConversationKey, IndexedMessage, Scope
from inference.turns.candidates import Answered, candidates
from inference.turns.facts import Facts, Question, Reply, joined, looked_up
from inference.turns.model import SIMILARITY_THRESHOLD
from inference.turns.rules import Turn, TurnFeedback, ranked, rejections_in_a_row
from inference.turns.vectors import TurnVectors
from inference.window import message_ranges
from tests.support.turn_feedback import reaction

MINUTE = 60_000_000


def turn(name: str, status: Feedback = "neutral", **fields: Any) -> Turn:
    word = TurnFeedback(status, 0.9, "explicit" if status == "rejected" else None, "words", "t9")
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
    assert turn("t", status, validation_outcome=outcome).satisfaction == expected


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
    assert turn("t", status, quality_score=quality).ranking_score == expected


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
        (reaction("rejected", "Wrong.", (), None, 5), ("Wrong.", 5, None)),
        (reaction("rejected", "", (), None, 5), ("words", 5, None)),
        (reaction("accepted", "Fine.", (), None, 5), ("Fine.", 5, None)),
        (reaction("accepted", "", (), None, 0), (None, 0, None)),
    ],
)
def test_the_explanation_of_a_status_is_the_persons_before_the_machines(
    user: TurnFeedback | None, shown: tuple[str | None, int, str | None]
) -> None:
    word = TurnFeedback("rejected", 0.9, "explicit", "words", "t9", 7)
    found = Turn(TurnKey("acme", "p", "c", "t"), machine=word, user=user)
    assert (found.feedback.user_said, found.feedback.detected_at, found.feedback.detected_in) == shown
    alone = replace(found, machine=None)
    without_machine = (user.user_said, user.detected_at, None) if user else (None, None, None)
    assert (alone.feedback.user_said, alone.feedback.detected_at, alone.feedback.detected_in) == without_machine


def test_the_persons_judgement_is_shown_and_the_machines_reasons_where_they_agree() -> None:
    agreed = turn("t", "rejected", user=reaction("rejected", None, (), None, 1))
    assert (agreed.status, agreed.feedback.confidence, agreed.rejection_detected_in) == ("rejected", 1.0, "t9")
    assert (agreed.feedback.user_said, agreed.feedback.correction_type) == ("words", "explicit")
    other = turn("t", "rejected", user=reaction("accepted", None, (), None, 1))
    assert (other.status, other.rejection_detected_in, other.feedback.user_said, other.feedback.correction_type) == (
        "accepted",
        None,
        None,
        None,
    )
    untold = Turn(TurnKey("acme", "p", "c", "t"))
    assert (untold.status, untold.feedback.confidence, untold.feedback.user_said) == ("neutral", 0.5, None)


def test_a_session_ends_after_half_an_hour_of_silence() -> None:
    rejected = turn("a", "rejected", at=0)
    assert rejections_in_a_row([rejected], SESSION_TIMEOUT_US) == 1
    assert rejections_in_a_row([rejected], SESSION_TIMEOUT_US + 1) == 0
    assert rejections_in_a_row([turn("a", "rejected", at=10**15)], 0) == 1
    assert rejections_in_a_row([turn("a", "rejected")], 10**15) == 1


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


HERE = ConversationKey("acme", "p", "c")


def questions(changed: str, *messages: tuple[str, str, str], reply_to: str | None = None) -> list[Facts]:
    """Return the questions after a change; a message has an id, a turn and a text; `reply_to` is that of the last."""
    rows = []
    for at, (name, turn_id, text) in enumerate(messages):
        role: Role = "agent" if name.startswith("a") else "human"
        replies = reply_to if at == len(messages) - 1 else None
        message = Message(name, turn_id, "who", role, None, text, at, replies)
        rows.append(IndexedMessage(HERE, message, b"", at.to_bytes(8), evaluation=4))
    return [
        fact
        for one in message_ranges({Scope(HERE, ""): rows}, {MessageKey(*HERE, changed)})
        for fact in one.questions()
    ]


def test_an_answer_answers_the_latest_question_before_it() -> None:
    [first, second] = questions("q1", ("q0", "q0", "Q0"), ("q1", "q1", "Q1"), ("a1", "a1", "A1"), ("a2", "t7", "A2"))
    assert (first.key.turn_id, second.key.turn_id) == ("a1", "t7")
    assert first.question == second.question == Question(looked_up(4), "q1", "who", "Q1")
    assert questions("q9", ("q1", "q1", "Q1"), ("a1", "a1", "A1")) == []


def test_an_erased_message_is_no_question() -> None:
    [fact] = questions("q1", ("q1", "q1", ""), ("a1", "a1", "At nine."))
    assert fact.question == Question(looked_up(4))
    [fact] = questions("q1", ("q1", "t", ""), ("a1", "t", "At nine."))
    assert fact.question == Question(looked_up(4))


def test_a_turn_whose_question_is_further_back_keeps_it() -> None:
    assert questions("a1", ("a1", "t", "A1"), ("a2", "t", "A2")) == []


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


# Vectors of the index of turns, and the minimum similarity of similar questions.

PAIRS = Path(__file__).parents[3] / "training" / "pairs.jsonl"


def test_stored_vectors_give_the_cosines_of_their_texts(detector: Detector) -> None:
    vectors, texts = TurnVectors(detector.embedder), ["When does it open?", "Does it open?", ""]
    exact = detector.embedder.embed(texts) @ detector.embedder.embed(texts[:1])[0]
    stored = vectors.stored([*texts, texts[0]])
    assert list(stored) == texts
    assert vectors.cosines(texts[0], [*stored.values(), None]) == pytest.approx([*exact, 0], abs=1e-3)
    assert not vectors.cosines(texts[0], []).size and not vectors.stored([])


def test_the_detectors_memory_gives_the_embedders_vectors(detector: Detector) -> None:
    texts = ["When does it open?", "", "🙂", "When does it open?"]
    assert (detector.embedder.embed(texts) == WordLlamaEmbedder().embed(texts)).all()
    assert detector.embedder.name == WordLlamaEmbedder.name


def test_the_floor_keeps_most_rewordings_and_few_unrelated_questions() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    embedder = WordLlamaEmbedder()
    left, right = (embedder.embed([pair[side] for pair in pairs]) for side in "ab")
    same = np.array([pair["same"] for pair in pairs])
    domains = np.array([pair["domain"] for pair in pairs])
    other = np.random.default_rng(1).permutation(len(pairs))
    apart = domains != domains[other]
    assert _share(left[same], right[same]) == pytest.approx(0.75, abs=0.02)
    assert _share(left[apart], right[other][apart]) < 0.04


def _share(left: Vectors, right: Vectors) -> float:
    return float((np.einsum("ij,ij->i", left, right) >= SIMILARITY_THRESHOLD).mean())


# Choice among a person's turns, by hand-written examples.


def answered(name: str, text: str, turns_back: int, cosine: float = 0.0) -> Answered:
    return Answered(TurnKey("acme", "p", f"c-{name}", name), f"{name}-a", "bot", text, turns_back, cosine)


def test_shared_words_beat_what_was_said_last() -> None:
    found = candidates(
        "the seaview hotel has no balcony",
        [answered("late", "It leaves at noon.", 1), answered("early", "The Seaview hotel.", 9, 0.5)],
    )
    assert [one.target.turn_id for one in found] == ["early", "late"]
    assert found[1].target.score == pytest.approx(0.15)
    # Two of three words with a topic are shared, each by one answer of two: 0.8 * 2/3 of what the words weigh.
    assert 0.1 < found[0].target.similarity < 0.8
    assert found[0].target.score == pytest.approx(0.85 * found[0].target.similarity + 0.15 / 9, abs=1e-6)


def test_where_nothing_is_shared_the_latest_comes_first_and_five_are_given() -> None:
    found = candidates("that's wrong", [answered(f"t{n}", "At nine.", n) for n in (3, 1, 7, 2, 5, 4, 6)])
    assert [one.target.turns_back for one in found] == [1, 2, 3, 4, 5]
    assert candidates("that's wrong", []) == ()


@pytest.mark.parametrize(("turns_back", "recency"), [(1, 1.0), (2, 0.5), (3, 0.333333), (7, 0.142857)])
def test_a_candidate_names_its_turn_and_how_far_back_it_is(turns_back: int, recency: float) -> None:
    [found] = candidates("nine", [answered("t1", "It opens at nine.", turns_back, 0.123)])
    assert found.conversation == ("acme", "p", "c-t1")
    assert (found.target.turn_id, found.target.message_id, found.target.agent_id) == ("t1", "t1-a", "bot")
    assert (found.target.turns_back, found.target.recency) == (turns_back, recency)
    assert found.target.similarity == round(found.target.similarity, 6)
    assert found.target.score == pytest.approx(0.85 * found.target.similarity + 0.15 / turns_back, abs=1e-6)
    assert found.target.score == round(found.target.score, 6)
