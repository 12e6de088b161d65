"""Choice among a person's turns, by hand-written examples."""

from __future__ import annotations

import pytest

from inference.turns.candidates import Answered, candidates
from inference.turns.rules import TurnKey


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


def test_the_order_that_turns_are_handed_in_does_not_matter() -> None:
    turns = [answered(name, "At nine.", 2, 0.4) for name in ("b", "a", "c")]
    assert candidates("nine", turns) == candidates("nine", turns[::-1])
    assert [one.target.turn_id for one in candidates("nine", turns)] == ["a", "b", "c"]


@pytest.mark.parametrize(("turns_back", "recency"), [(1, 1.0), (2, 0.5), (3, 0.333333), (7, 0.142857)])
def test_a_candidate_names_its_turn_and_how_far_back_it_is(turns_back: int, recency: float) -> None:
    [found] = candidates("nine", [answered("t1", "It opens at nine.", turns_back, 0.123)])
    assert found.conversation == ("acme", "p", "c-t1")
    assert (found.target.turn_id, found.target.message_id, found.target.agent_id) == ("t1", "t1-a", "bot")
    assert (found.target.turns_back, found.target.recency) == (turns_back, recency)
    assert found.target.similarity == round(found.target.similarity, 6)
    assert found.target.score == pytest.approx(0.85 * found.target.similarity + 0.15 / turns_back, abs=1e-6)
    assert found.target.score == round(found.target.score, 6)
