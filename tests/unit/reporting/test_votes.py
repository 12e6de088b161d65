"""Changes of satisfaction: their size and significance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.intervals import difference
from reporting.figures.votes import Votes

COUNTS = st.integers(0, 3_000)


def test_a_published_example_of_newcombes_interval() -> None:
    # Newcombe 1998, table II: 56/70 against 48/80, method 10: 0.0524 to 0.3339.
    assert difference(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_bounds_hold_the_difference_and_turn_with_it(ok: int, bad: int, was_ok: int, was_bad: int) -> None:
    change = Votes(ok, 0, bad).since(Votes(was_ok, 0, was_bad))
    if not ok + bad or not was_ok + was_bad:
        assert change is None
        return
    assert change is not None
    assert change.bounds.low - 1e-9 <= change.points / 100 <= change.bounds.high + 1e-9
    back = Votes(was_ok, 0, was_bad).since(Votes(ok, 0, bad))
    assert back is not None
    assert back.bounds == pytest.approx((-change.bounds.high, -change.bounds.low), abs=1e-9)


def test_few_votes_are_no_certain_change_and_many_are() -> None:
    few, many = Votes(3, 0, 7).since(Votes(6, 0, 4)), Votes(300, 0, 700).since(Votes(600, 0, 400))
    assert few is not None and not few.certain
    assert many is not None and many.certain
