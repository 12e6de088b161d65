"""Wilson confidence intervals for proportions, which are valid even for small samples. No I/O."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Final, NamedTuple

Z: Final = 1.959964
"""The z-score of a 95 % confidence interval."""


class Interval(NamedTuple):
    low: float
    high: float


@lru_cache(maxsize=4_096)  # a page asks for the bounds of the same counts many times
def wilson(good: float, votes: float) -> Interval:
    """Return the 95 % confidence interval for the proportion of good votes.

    Without votes, the interval is 0 to 1.

    Args:
        good: Sum of the votes, each of which is from 0 to 1.
        votes: Number of votes. For weighted votes, this is the effective sample size, and `good` must be scaled to
            match.
    """
    if votes == 0:
        return Interval(0.0, 1.0)
    share, z2 = good / votes, Z * Z
    middle = (share + z2 / (2 * votes)) / (1 + z2 / votes)
    half = Z / (1 + z2 / votes) * sqrt(share * (1 - share) / votes + z2 / (4 * votes * votes))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))
