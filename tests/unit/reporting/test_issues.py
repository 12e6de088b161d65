"""Pure decisions of issues: groups and titles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from detector.encoders.embedder import Vectors, unit_rows
from detector.intervals import wilson
from reporting.figures.clustering import ClusteredShare, PersonVotes, effective_size
from reporting.figures.ranking import AgentEvidence
from reporting.figures.votes import Votes
from reporting.issues.grouping import Centre, centre_of, grouped, nearest, packed, turn_vectors, unpacked
from reporting.issues.words import titles, words_of


def around(axis: int, count: int, seed: int = 0, noise: float = 0.05) -> Vectors:
    """Return vectors near an axis of 32 dimensions."""
    drawn = np.random.default_rng(seed + axis).normal(size=(count, 32)).astype(np.float32)
    return unit_rows(np.eye(32, dtype=np.float32)[axis] + noise * drawn)


def test_two_topics_become_two_issues() -> None:
    vectors = np.concatenate([around(0, 8), around(1, 8)])
    groups = grouped(vectors, [None] * 16)
    assert groups.joined == {}
    assert sorted(map(sorted, groups.new)) == [list(range(8)), list(range(8, 16))]


def test_turns_without_issue_join_that_of_at_least_half_of_their_cluster() -> None:
    vectors = np.concatenate([around(0, 8), around(1, 8)])
    known = [7, 7, 7, 9, None, None, None, None]
    groups = grouped(vectors, [*known, *[None] * 8])
    assert groups.joined == dict.fromkeys(range(4, 8), 7)
    assert [sorted(one) for one in groups.new] == [list(range(8, 16))]
    groups = grouped(vectors, [7, 7, 7, None, None, None, None, None, *[None] * 8])
    assert groups.joined == {}
    assert sorted(map(sorted, groups.new)) == [list(range(3, 8)), list(range(8, 16))]


@pytest.mark.parametrize(("coherence", "issues"), [(0.84, 2), (0.86, 1)])
def test_a_group_without_a_common_topic_is_no_issue(coherence: float, issues: int) -> None:
    """The mean similarity of two turns is 0.92 in the first group and 0.85 in the second one."""
    groups = grouped(np.concatenate([around(0, 8), around(1, 8, noise=0.08)]), [None] * 16, coherence)
    assert sorted(map(sorted, groups.new)) == [list(range(8)), list(range(8, 16))][:issues]


def test_a_turn_joins_the_nearest_centre_within_whose_radius_it_is() -> None:
    first, second = np.eye(2, dtype=np.float32)
    turn = unit_rows(np.array([[0.9, 0.436]], dtype=np.float32))
    assert nearest(turn, [Centre(first, 0.89), Centre(second, 0.1)]) == [0]
    assert nearest(turn, [Centre(first, 0.91), Centre(second, 0.1)]) == [1]
    assert nearest(turn, [Centre(first, 0.91), Centre(second, 0.5)]) == [None]
    assert nearest(turn, []) == [None]


def test_a_radius_is_not_above_four_fifths() -> None:
    assert centre_of(np.repeat(np.eye(1, 4, dtype=np.float32), 3, axis=0)).min_similarity == pytest.approx(0.8)


def test_a_complaint_weighs_as_much_as_it_resembles_the_question() -> None:
    axes = np.eye(3, dtype=np.float32)
    none = np.zeros((1, 3), dtype=np.float32)
    assert turn_vectors(axes[:1], none, axes[2:]) == pytest.approx(axes[:1])
    alike = unit_rows(np.array([[1, 0, 1]], dtype=np.float32))
    assert turn_vectors(axes[:1], none, alike)[0, 2] == pytest.approx(0.5 / np.hypot(1.5, 0.5), abs=1e-6)
    assert turn_vectors(none, none, axes[2:]) == pytest.approx(axes[2:]), "the question is unknown"


def test_an_answer_weighs_a_fifth_of_a_question_or_of_the_complaint_in_its_place() -> None:
    axes = np.eye(3, dtype=np.float32)
    none = np.zeros((1, 3), dtype=np.float32)
    assert turn_vectors(axes[:1], axes[1:2], axes[2:]) == pytest.approx(unit_rows(axes[:1] + 0.2 * axes[1:2]))
    assert turn_vectors(none, axes[1:2], axes[2:]) == pytest.approx(unit_rows(axes[2:] + 0.2 * axes[1:2]))
    assert not turn_vectors(none, none, none).any()
    several = turn_vectors(np.concatenate([axes[:1], none]), axes[1:], axes[[2, 2]])
    assert several == pytest.approx(unit_rows(np.array([[1, 0.2, 0], [0, 0, 1.2]], dtype=np.float32)))


def test_stored_vectors_keep_half_precision() -> None:
    vectors = around(0, 3)
    assert unpacked([packed(one) for one in vectors]) == pytest.approx(vectors, abs=1e-3)
    assert unpacked([]).shape == (0, 0)


def test_titles_have_distinctive_words_that_several_turns_share() -> None:
    refund = [["refund", "order", "march"], ["refund", "order"], ["refunds", "money"], ["money", "order"]]
    parcel = [["parcel", "order"], ["parcel", "order"], ["late"]]
    assert titles({1: refund, 2: parcel}) == {1: ["money", "refund", "order"], 2: ["parcel", "order"]}
    assert titles({1: [["boots"], ["size", "jeans"]]}) == {1: ["boots", "jeans", "size"]}
    assert titles({1: []}) == {1: []}


def test_words_leave_out_stop_words_and_the_complaint_beside_a_question() -> None:
    assert words_of("Where is the Refund? refund!", "wrong") == ["refund"]
    assert words_of("", "Wrong again, WRONG") == ["wrong"]
    assert words_of("Wo ist die Garantie für den Toaster, und avec des enfants à Arles?", "") == [
        *("garantie", "toaster", "enfants", "arles")
    ]


def test_turns_that_are_almost_equal_are_clustered_as_one() -> None:
    topic = np.concatenate([np.repeat(one[None], 6, axis=0) for one in spread(0, 6)])
    groups = grouped(np.concatenate([topic, spread(1, 6)]), [None] * 42)
    assert sorted(map(sorted, groups.new)) == [list(range(36)), list(range(36, 42))]


@pytest.mark.parametrize(("count", "issues"), [(2, []), (3, [[0, 1, 2]])])
def test_three_equal_turns_are_an_issue_without_any_others(count: int, issues: list[list[int]]) -> None:
    vectors = np.repeat(np.eye(1, 32, 9, dtype=np.float32), count, axis=0)
    assert [sorted(one) for one in grouped(vectors, [None] * count).new] == issues


def spread(axis: int, count: int) -> Vectors:
    """Return vectors around an axis that are similar to each other, but not almost equal."""
    noise = np.random.default_rng(axis).normal(size=(count, 32)).astype(np.float32)
    return unit_rows(np.eye(32, dtype=np.float32)[axis] + 0.12 * noise)


# Intervals of shares whose verdicts are clustered by person.


def test_one_verdict_each_counts_in_full() -> None:
    people = [PersonVotes(n % 2, 1) for n in range(100)]
    assert effective_size(people) == pytest.approx(100, rel=0.08)
    share = ClusteredShare(50, 100, effective_size(people))
    assert share.sure.low == pytest.approx(wilson(50, 100).low, abs=0.005)


def test_verdicts_of_one_person_count_as_one() -> None:
    assert effective_size([PersonVotes(80, 100)]) == 1
    assert effective_size([PersonVotes(0, 50), PersonVotes(50, 50)]) == 2
    assert effective_size([]) == 0
    assert ClusteredShare(80, 100, 0).sure == (0, 1)
    assert ClusteredShare(80, 100, 1).minus(ClusteredShare(20, 100, 100)).low < 0


def test_people_who_always_agree_with_themselves_count_once_each() -> None:
    people = [PersonVotes(10 * (n % 2), 10) for n in range(200)]
    assert effective_size(people) == pytest.approx(200, rel=0.04)
    people = [PersonVotes(10, 10)] * 50
    assert effective_size(people) == 50, "a share of 1 says nothing about the spread"


def _coverage(same: bool, *, clustered: bool) -> float:
    """Return how often the interval of the difference of two equal sides contains 0, in simulations."""
    choose, held = random.Random(7), 0
    for _ in range(400):
        sides = []
        for _side in range(2):
            people = []
            for _person in range(60):
                taste = choose.choice([0.3, 0.95]) if same else 0.7
                verdicts = choose.choice([1, 2, 8, 20])
                people.append(PersonVotes(sum(choose.random() < taste for _ in range(verdicts)), verdicts))
            ok, votes = sum(one.ok for one in people), sum(one.verdicts for one in people)
            sides.append(ClusteredShare(ok, votes, effective_size(people) if clustered else votes))
        low, high = sides[1].minus(sides[0])
        held += low <= 0 <= high
    return held / 400


def test_intervals_cover_the_difference_although_people_repeat_themselves() -> None:
    assert _coverage(True, clustered=True) >= 0.93
    assert _coverage(False, clustered=True) >= 0.93
    assert _coverage(True, clustered=False) < 0.8, "counting all verdicts as independent would raise false alarms"


# Agents are ranked by the strongest evidence of being bad, whoever gave it.

NONE = Votes()


LIKED, MIXED, BAD = Votes(38, 0, 2), Votes(20, 0, 20), Votes(2, 0, 18)


def ordered(*given: AgentEvidence, least: int = 10) -> list[str]:
    return [one.agent_id for one in sorted(given, key=lambda one: one.rank(least))]


def test_the_worst_agent_is_first_whoever_judged_it() -> None:
    by_people, by_machine = AgentEvidence("people", MIXED, NONE), AgentEvidence("machine", LIKED, BAD)
    assert ordered(by_people, by_machine, AgentEvidence("liked", LIKED, LIKED)) == ["machine", "people", "liked"]
    assert (by_people.judged_by(), by_machine.judged_by()) == ("people", "machine")
    assert AgentEvidence("swapped", BAD, LIKED).rank()[1] == by_machine.rank()[1]


def test_sides_are_not_added_up() -> None:
    both = AgentEvidence("both", Votes(6, 0, 4), Votes(6, 0, 4))
    assert both.rank()[1] == AgentEvidence("one", Votes(6, 0, 4), NONE).rank()[1]
    assert both.rank()[1] > Votes(12, 0, 8).sure.high


@pytest.mark.parametrize(("people", "judged_by"), [(Votes(0, 0, 9), None), (Votes(0, 0, 10), "people")])
def test_few_verdicts_come_last(people: Votes, judged_by: str | None) -> None:
    few, liked = AgentEvidence("few", people, Votes(0, 0, 9)), AgentEvidence("liked", LIKED, NONE)
    assert few.judged_by() == judged_by
    assert ordered(few, liked) == (["liked", "few"] if judged_by is None else ["few", "liked"])
    assert ordered(few, liked, least=9) == ["few", "liked"]
