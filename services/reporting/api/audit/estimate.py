"""Estimates of rates from machine verdicts and the reviews of a random sample. No I/O.

The machine verdicts divide the answers of a time window into three strata: rejected, praised, and without a verdict.
Reviewers judge a random sample of each stratum. A rate is estimated as the mean of the sample proportions, weighted by
stratum size. The machine's prediction is constant within a stratum, so this mean equals the rectified mean of
prediction-powered inference (Angelopoulos et al., Science 382, 2023) with the power tuned for each stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from contracts.intervals import Interval, wilson

Z: Final = 1.959964
"""z-score of a 95 % confidence interval."""
_PSEUDO: Final = 0.5
"""Pseudo-count of each class in the variance of a ratio. It keeps the variance positive for a class without reviews."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers with the same machine verdict.

    `size` is the number of answers. The other fields count the random reviews by verdict.
    """

    size: int
    ok: int = 0
    neutral: int = 0
    not_ok: int = 0

    @property
    def reviewed(self) -> int:
        return self.ok + self.neutral + self.not_ok

    @property
    def unseen(self) -> float:
        """Return the unreviewed fraction, which is the finite-population correction of the variance."""
        return max(0.0, 1 - self.reviewed / self.size)

    def __add__(self, other: Stratum) -> Stratum:
        return Stratum(
            self.size + other.size, self.ok + other.ok, self.neutral + other.neutral, self.not_ok + other.not_ok
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated rate, 0 to 1, with its 95 % confidence interval."""

    rate: float
    interval: Interval


def share(strata: Sequence[Stratum], count: Callable[[Stratum], int]) -> Estimate | None:
    """Estimate the proportion of answers that have a property.

    The confidence interval combines the Wilson intervals of the strata by the square-and-add method (Zou and Donner,
    Statistics in Medicine 27, 2008).

    Args:
        count: Returns how many of a stratum's reviews found the property.

    Returns:
        The estimate, or None if there are no answers or a stratum with answers has no reviews.
    """
    used = _used(strata)
    if used is None:
        return None
    total = sum(one.size for one in used)
    rate = low = high = 0.0
    for one in used:
        weight, part = one.size / total, count(one) / one.reviewed
        bounds = wilson(count(one), one.reviewed)
        rate += weight * part
        low += one.unseen * (weight * (part - bounds.low)) ** 2
        high += one.unseen * (weight * (bounds.high - part)) ** 2
    return Estimate(rate, Interval(max(0.0, rate - sqrt(low)), min(1.0, rate + sqrt(high))))


def satisfaction(strata: Sequence[Stratum]) -> Estimate | None:
    """Estimate ok / (ok + not_ok) over all answers that people responded to.

    The confidence interval uses Fieller's method.

    Returns:
        The estimate, or None if there are no answers, a stratum with answers has no reviews, or all reviews are
        neutral.
    """
    used = _used(strata)
    if used is None or not any(one.ok + one.not_ok for one in used):
        return None
    total = sum(one.size for one in used)
    good = bad = good_variance = bad_variance = covariance = 0.0
    for one in used:
        scale, reviews = one.size / total, one.reviewed
        good += scale * one.ok / reviews
        bad += scale * one.not_ok / reviews
        smooth = reviews + 3 * _PSEUDO
        p, q = (one.ok + _PSEUDO) / smooth, (one.not_ok + _PSEUDO) / smooth
        spread = one.unseen * scale**2 / max(1, reviews - 1)
        good_variance += spread * p * (1 - p)
        bad_variance += spread * q * (1 - q)
        covariance -= spread * p * q
    both_variance = good_variance + bad_variance + 2 * covariance
    return Estimate(
        good / (good + bad), _fieller(good, good + bad, good_variance, both_variance, good_variance + covariance)
    )


def _fieller(top: float, bottom: float, top_variance: float, bottom_variance: float, covariance: float) -> Interval:
    """Return Fieller's interval of top / bottom: all r such that top - r * bottom is within Z standard errors of 0."""
    a = bottom**2 - Z**2 * bottom_variance
    b = top * bottom - Z**2 * covariance
    c = top**2 - Z**2 * top_variance
    root = b * b - a * c
    if a <= 0 or root < 0:
        return Interval(0.0, 1.0)
    return Interval(max(0.0, (b - sqrt(root)) / a), min(1.0, (b + sqrt(root)) / a))


def _used(strata: Sequence[Stratum]) -> list[Stratum] | None:
    """Return the strata with answers, or None if there are none or one of them has no reviews."""
    used = [one for one in strata if one.size]
    return used if used and all(one.reviewed for one in used) else None
