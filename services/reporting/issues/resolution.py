"""Proof of resolution: rejection rates on an issue's topic before and after a version or time. No I/O.

Regressions are detected elsewhere, in `store.recount`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.instants import DAY
from contracts.intervals import Interval, difference, wilson


@dataclass(frozen=True, slots=True)
class TopicCount:
    """Answered and rejected turns on a topic in one day. `day` is the start of the day in microseconds."""

    version: str | None
    day: int
    turns: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Share:
    """Number of turns on a topic and how many of them were rejected."""

    turns: int = 0
    rejected: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.turns + other.turns, self.rejected + other.rejected)

    @property
    def share(self) -> float | None:
        """Return rejected / turns, or None if there are no turns."""
        return self.rejected / self.turns if self.turns else None

    @property
    def sure(self) -> Interval:
        """Return the 95 % confidence interval of the share."""
        return wilson(self.rejected, self.turns)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Rejection rates before and after a resolution."""

    before: Share
    after: Share

    @property
    def difference(self) -> Interval:
        """Return the 95 % confidence interval of the change in the rejection rate (after minus before).

        The interval is [-1, 1] if there are no turns before or after the resolution.
        """
        return difference(self.after.rejected, self.after.turns, self.before.rejected, self.before.turns)

    @property
    def is_proved(self) -> bool:
        """Return True if the rejection rate is significantly lower after the resolution, at the 5 % level."""
        return self.difference.high < 0


def resolution(
    counts: Iterable[TopicCount], version: str | None, resolved_at: int, first_seen: Mapping[str, int]
) -> Resolution:
    """Compare the rejection rates before and after a resolution.

    If `version` is given, the turns after the resolution are those of this version and later ones. Otherwise, they are
    the turns from the day of `resolved_at` onwards.

    Args:
        version: The version that resolved the issue, or None. If it has no answers yet, all turns count as before the
            resolution.
        resolved_at: Time of the resolution in microseconds.
        first_seen: Time of the first answer of each version. Versions are ordered by this time. Turns of versions
            without such a time are ignored if `version` is given.
    """
    before, after = Share(), Share()
    for count in counts:
        if version is None:
            is_after = count.day >= resolved_at // DAY * DAY
        elif count.version is None or count.version not in first_seen:
            continue
        else:
            began = first_seen.get(version)
            is_after = began is not None and first_seen[count.version] >= began
        counted = Share(count.turns, count.rejected)
        before, after = (before, after + counted) if is_after else (before + counted, after)
    return Resolution(before, after)
