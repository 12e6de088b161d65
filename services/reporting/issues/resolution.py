"""Proof that an issue is resolved: rejection rates on its topic before and after a version or a time. Pure.

`store.recount` marks a resolved issue as regressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.instants import DAY
from contracts.intervals import Interval, difference, wilson


@dataclass(frozen=True, slots=True)
class TopicCount:
    """Numbers of answered and of rejected turns on an issue's topic in a day. `day` is its start in microseconds."""

    version: str | None
    day: int
    turns: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Share:
    """Number of turns on a topic, and number of rejected turns among them."""

    turns: int = 0
    rejected: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.turns + other.turns, self.rejected + other.rejected)

    @property
    def share(self) -> float | None:
        """Return rejected / turns; None without turns."""
        return self.rejected / self.turns if self.turns else None

    @property
    def sure(self) -> Interval:
        """Return the 95 % confidence interval of the share."""
        return wilson(self.rejected, self.turns)


@dataclass(frozen=True, slots=True)
class AffectedPeople:
    """Number of people with recent verdicts on an agent, and number of people among them affected by an issue."""

    people: int = 0
    affected: int = 0

    @property
    def share(self) -> float | None:
        """Return affected / people; None without people."""
        return self.affected / self.people if self.people else None

    @property
    def sure(self) -> Interval:
        """Return the 95 % confidence interval of the share."""
        return wilson(self.affected, self.people)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Rejection rates before and after a resolution, with the 95 % confidence interval of after minus before."""

    before: Share
    after: Share

    @property
    def difference(self) -> Interval:
        """Return the interval of the difference, -1 to 1; the whole range if either side has no turns."""
        return difference(self.after.rejected, self.after.turns, self.before.rejected, self.before.turns)

    @property
    def is_proved(self) -> bool:
        """Return True if the share is significantly lower after the resolution, at the 5 % level."""
        return self.difference.high < 0


def resolution(counts: Iterable[TopicCount], version: str | None, at: int, first_seen: Mapping[str, int]) -> Resolution:
    """Compare the turns before `version` with the turns from `version` on.

    If `version` is None, compare the turns before and after the day of `at` (microseconds). `first_seen` is the time of
    each version's first answer, which orders the versions. Turns of an unknown version are ignored. If `version` has no
    answer yet, no turn counts as after.
    """
    before, after = Share(), Share()
    for one in counts:
        if version is None:
            is_after = one.day >= at // DAY * DAY
        elif one.version is None or one.version not in first_seen:
            continue
        else:
            began = first_seen.get(version)
            is_after = began is not None and first_seen[one.version] >= began
        counted = Share(one.turns, one.rejected)
        before, after = (before, after + counted) if is_after else (before + counted, after)
    return Resolution(before, after)
