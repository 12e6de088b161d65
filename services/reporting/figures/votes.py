"""Counts of ok, neutral and not_ok verdicts, with satisfaction, its confidence interval and its change. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from detector.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class Votes:
    """Counts of effective reactions by verdict."""

    ok: int = 0
    neutral: int = 0
    not_ok: int = 0

    def __add__(self, other: Votes) -> Votes:
        return Votes(self.ok + other.ok, self.neutral + other.neutral, self.not_ok + other.not_ok)

    @property
    def total(self) -> int:
        return self.ok + self.neutral + self.not_ok

    @property
    def satisfaction(self) -> float | None:
        """Proportion ok / (ok + not_ok + neutral), or None if there are no votes."""
        return self.ok / self.total if self.total else None

    @property
    def sure(self) -> Interval:
        """The 95 % confidence interval of the satisfaction."""
        return wilson(self.ok, self.total)

    def since(self, before: Votes) -> SatisfactionChange | None:
        """Return the change since the period `before`, or None if either period has no votes."""
        if not self.total or not before.total:
            return None
        share, was = self.ok / self.total, before.ok / before.total
        return SatisfactionChange(was, share, difference(self.ok, self.total, before.ok, before.total))


@dataclass(frozen=True, slots=True)
class SatisfactionChange:
    """Change of satisfaction between two periods.

    Attributes:
        was: Satisfaction in the earlier period, 0 to 1.
        now: Satisfaction in the current period, 0 to 1.
        bounds: 95 % confidence interval of the change, -1 to 1.
    """

    was: float
    now: float
    bounds: Interval

    @property
    def points(self) -> float:
        """The change in percentage points."""
        return 100 * (self.now - self.was)

    @property
    def certain(self) -> bool:
        """True if the change is significant at the 5 % level."""
        return self.bounds.low > 0 or self.bounds.high < 0


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
