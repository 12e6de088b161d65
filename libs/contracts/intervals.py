"""Wilson confidence intervals of proportions and mean rewards. They are also valid for small samples. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum, sqrt
from typing import Final, NamedTuple

Z: Final = 1.959964
"""The z-score of a 95 % confidence interval."""


class Interval(NamedTuple):
    low: float
    high: float


@lru_cache(maxsize=4_096)  # a page asks for the bounds of the same counts many times
def wilson(good: float, votes: float) -> Interval:
    """Return the 95 % confidence interval of the proportion of good votes; 0 to 1 if there are no votes.

    `good` is the sum of the votes, each from 0 to 1. `votes` may be an effective sample size; `good` must then be
    scaled to it.
    """
    if votes == 0:
        return Interval(0.0, 1.0)
    share, z2 = good / votes, Z * Z
    middle = (share + z2 / (2 * votes)) / (1 + z2 / votes)
    half = Z / (1 + z2 / votes) * sqrt(share * (1 - share) / votes + z2 / (4 * votes * votes))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def satisfaction(good: int, votes: int) -> float | None:
    """Return the proportion of good votes, 0 to 1; None if there are no votes."""
    return good / votes if votes else None


def difference(good: float, votes: float, good_before: float, votes_before: float) -> Interval:
    """Return the 95 % confidence interval of the later proportion minus the earlier one.

    This is Newcombe's hybrid of two Wilson intervals, within -1 to 1. If either period has no votes, the interval is -1
    to 1.
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


def mean_reward(rewards: Sequence[float]) -> tuple[float, Interval]:
    """Return the mean of one or more rewards from -1 to 1, and its 95 % confidence interval.

    Rewards scaled to 0..1 with mean p have a variance of at most p(1-p) (Bhatia and Davis, 2000). Wilson's interval
    assumes this variance, so it is conservative, and it has a width even if all rewards are equal.
    """
    total, count = fsum(rewards), len(rewards)
    low, high = wilson((total + count) / 2, count)
    return total / count, Interval(2 * low - 1, 2 * high - 1)
