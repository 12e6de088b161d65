"""Sequential tests of proportions, which remain valid however often they are repeated. No I/O.

The test statistic is compared with the one-sided normal-mixture boundary of Howard, Ramdas, McAuliffe and Sekhon
("Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49(2), 2021, section 3.2).
Without a change, the probability that a Brownian motion ever crosses this boundary is at most ALPHA.

The difference between two shares, multiplied by its information, is a Brownian motion in information time (Jennison and
Turnbull, "Group Sequential Methods", 1999). Differences in separate strata (weekdays) are independent, so their sum is
a Brownian motion as well. The tests assume that shares are normally distributed, which is an approximation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Final

from reporting.figures.votes import Votes

ALPHA: Final = 0.02
"""Maximum probability that a test ever raises a false alarm.

One test begins each day, so the expected number of false alarms is at most 0.6 per month.
"""
_TUNED: Final = 30.0
"""Mixture parameter, in verdicts. The boundary is narrowest at about eight times this number of verdicts."""
_PLAIN: Final = 1.959964
"""The z-score of a 95 % confidence interval for a single test."""
_ENOUGH: Final = 4.29
"""Difference in standard errors that a single test detects with a probability of 99 %."""


@dataclass(frozen=True, slots=True)
class ShareTest:
    """Comparison of a share with a reference.

    Attributes:
        difference: The share minus the reference, -1 to 1.
        bound: Always-valid upper confidence bound of the difference; it may exceed 1.
        plain: Upper bound of the ordinary 95 % confidence interval of the difference; it may exceed 1.
        error: Standard error of the difference.
    """

    difference: float
    bound: float
    plain: float
    error: float

    @property
    def is_below(self) -> bool:
        """True if the share is significantly below the reference."""
        return self.bound < 0

    def could_show(self, difference: float) -> bool:
        """Return True if a single test of these verdicts could detect a difference of this size."""
        return abs(difference) >= _ENOUGH * self.error


UNKNOWN: Final = ShareTest(0.0, inf, inf, inf)
"""Result of a comparison without verdicts."""


def boundary(information: float) -> float:
    """Return the boundary for a given amount of information, which must be positive.

    The probability that a Brownian motion ever crosses the boundary is at most ALPHA.
    """
    grown = information + _TUNED
    return sqrt(2 * grown * log(sqrt(grown / _TUNED) / (2 * ALPHA) + 1))


def below_level(votes: Votes, level: float) -> ShareTest:
    """Test whether satisfaction is below a level between 0 and 1."""
    if not votes.total:
        return UNKNOWN
    return _test(float(votes.total), votes.ok - level * votes.total, sqrt(level * (1 - level)))


def below_before(now: Mapping[int, Votes], before: Mapping[int, Votes]) -> ShareTest:
    """Test whether satisfaction is below that of an earlier period.

    The periods are compared within each stratum (weekday). Strata without verdicts in one of the periods are ignored.
    """
    information = gained = 0.0
    pooled = Votes()
    for stratum, votes in now.items():
        was = before.get(stratum, Votes())
        if votes.total and was.total:
            weight = 1 / (1 / votes.total + 1 / was.total)
            information += weight
            gained += weight * (votes.ok / votes.total - was.ok / was.total)
            pooled += votes + was
    share = (pooled.ok + 1) / (pooled.total + 2)
    return _test(information, gained, sqrt(share * (1 - share))) if information else UNKNOWN


def _test(information: float, gained: float, deviation: float) -> ShareTest:
    difference = gained / information
    error = deviation / sqrt(information)
    return ShareTest(
        difference, difference + deviation * boundary(information) / information, difference + _PLAIN * error, error
    )
