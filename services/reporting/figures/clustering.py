"""Confidence intervals for verdicts that are clustered by person. No I/O.

One person's verdicts are correlated, so 100 verdicts from one person are less informative than one verdict from each of
100 people. The intervals of proportions (Wilson) and of their differences (Newcombe) therefore use the effective sample
size, which is the number of verdicts divided by the design effect (Kish). The design effect is the proportion's
variance under clustering, divided by its variance for independent verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from detector.intervals import Interval, Z, wilson
from reporting.figures.votes import difference

FEWEST_PEOPLE: Final = 10
"""Minimum number of people for estimating the design effect from the verdicts. With fewer, Kish's size is used."""


class PersonVotes(NamedTuple):
    """One person's verdicts."""

    ok: int
    verdicts: int


def effective_size(people: Iterable[PersonVotes]) -> float:
    """Return the number of independent verdicts that are as informative as these people's verdicts."""
    numbers = Counter(people)
    count = sum(numbers.values())
    total = sum(person.verdicts * number for person, number in numbers.items())
    if total == 0:
        return 0.0
    share = sum(person.ok * number for person, number in numbers.items()) / total
    same = total * total / sum(person.verdicts**2 * number for person, number in numbers.items())
    if count < FEWEST_PEOPLE or share in (0.0, 1.0):
        return same
    # The jackknife variance of the number of ok verdicts. For independent verdicts: share * (1 - share) * total.
    spread = sum(
        ((person.ok - share * person.verdicts) / (1 - person.verdicts / total)) ** 2 * number
        for person, number in numbers.items()
    )
    # With few people the variance estimate is imprecise: use Student's t with Kish's number of people, not the normal.
    wider = 1 + (Z * Z + 1) / (4 * max(1.0, same - 1))
    return max(1.0, total / (max(1.0, spread / (share * (1 - share) * total)) * wider**2))


@dataclass(frozen=True, slots=True)
class ClusteredShare:
    """Proportion of ok verdicts among verdicts that are clustered by person.

    Attributes:
        ok: Number of ok verdicts.
        votes: Number of all verdicts.
        size: Effective sample size.
    """

    ok: int
    votes: int
    size: float

    @property
    def share(self) -> float | None:
        return self.ok / self.votes if self.votes else None

    @property
    def _scaled(self) -> tuple[float, float]:
        size = min(self.size, float(self.votes))
        return (self.ok / self.votes * size, size) if self.votes and size > 0 else (0.0, 0.0)

    @property
    def sure(self) -> Interval:
        """The proportion's 95 % confidence interval."""
        good, size = self._scaled
        return wilson(good, size) if size else Interval(0.0, 1.0)

    def minus(self, other: ClusteredShare) -> Interval:
        """Return the 95 % confidence interval of this proportion minus the other (Newcombe)."""
        return difference(*self._scaled, *other._scaled)
