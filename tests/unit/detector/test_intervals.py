"""Wilson's interval against values from the literature, and at its edges."""

from __future__ import annotations

import pytest

from detector.intervals import wilson


@pytest.mark.parametrize(
    ("good", "votes", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson(good: int, votes: int, low: float, high: float) -> None:
    assert wilson(good, votes) == pytest.approx((low, high), abs=5e-5)
