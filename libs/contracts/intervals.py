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


def satisfaction(good: int, votes: int) -> float | None:
    """Return the proportion of good votes, from 0 to 1, or None if there are no votes."""
    return good / votes if votes else None


def difference(good: float, votes: float, good_before: float, votes_before: float) -> Interval:
    """Return the 95 % confidence interval for the change in the proportion of good votes between two periods.

    A positive change is an increase. The interval is computed by Newcombe's method from two Wilson intervals and lies
    within [-1, 1]. If there are no votes in one of the periods, it is [-1, 1].
    """
    if votes == 0 or votes_before == 0:
        return Interval(-1.0, 1.0)
    share, before = good / votes, good_before / votes_before
    now, was = wilson(good, votes), wilson(good_before, votes_before)
    change = share - before
    return Interval(
        change - sqrt((share - now.low) ** 2 + (was.high - before) ** 2),
        change + sqrt((now.high - share) ** 2 + (before - was.low) ** 2),
    )
