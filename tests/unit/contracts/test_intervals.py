"""Wilson's interval against values from the literature, and at its edges."""

from __future__ import annotations

import pytest

from contracts.intervals import difference, satisfaction, wilson


@pytest.mark.parametrize(
    ("good", "votes", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson(good: int, votes: int, low: float, high: float) -> None:
    assert wilson(good, votes) == pytest.approx((low, high), abs=5e-5)


def test_no_votes_have_no_satisfaction() -> None:
    assert satisfaction(0, 0) is None
    assert satisfaction(1, 4) == 0.25


@pytest.mark.parametrize(("good", "votes", "good_before", "votes_before"), [(0, 0, 0, 0), (0, 0, 3, 4), (3, 4, 0, 0)])
def test_a_period_without_votes_leaves_every_change_possible(
    good: int, votes: int, good_before: int, votes_before: int
) -> None:
    assert difference(good, votes, good_before, votes_before) == (-1.0, 1.0)


@pytest.mark.parametrize(("good", "good_before", "bound"), [(9, 0, 1.0), (0, 9, -1.0)])
def test_the_greatest_change_is_its_own_bound(good: int, good_before: int, bound: float) -> None:
    interval = difference(good, 9, good_before, 9)
    assert -1 <= interval.low < interval.high <= 1
    assert bound in interval
