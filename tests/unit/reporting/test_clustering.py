"""Intervals of shares whose verdicts are clustered by person."""

from __future__ import annotations

import random

import pytest

from contracts.intervals import wilson
from reporting.figures.clustering import ClusteredShare, PersonVotes, QuestionKind, adjusted, effective_size


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


def _share(ok: int, votes: int) -> ClusteredShare:
    return ClusteredShare(ok, votes, votes)


def test_a_difference_that_is_only_a_mix_of_questions_disappears() -> None:
    # Both answer easy questions at .9 and hard ones at .5, but b gets more hard ones.
    strata = [QuestionKind(_share(720, 800), _share(180, 200)), QuestionKind(_share(100, 200), _share(400, 800))]
    found = adjusted(strata)
    assert found is not None
    assert found.difference == pytest.approx(0)
    assert found.sure.low < 0 < found.sure.high
    assert found.shared == 1


def test_no_adjustment_with_one_kind_of_question_or_few_shared_ones() -> None:
    only = QuestionKind(_share(8, 10), _share(5, 10))
    assert adjusted([]) is None
    assert adjusted([only]) is None
    assert adjusted([only, only, QuestionKind(_share(0, 0), _share(50, 100))]) is None
    found = adjusted([only, only, QuestionKind(_share(0, 0), _share(2, 4))])
    assert found is not None
    assert (round(found.difference, 3), round(found.shared, 3)) == (-0.3, 0.909)
