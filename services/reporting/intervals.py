"""How sure a share is: Wilson's interval, which holds for few votes too. Pure."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

_Z: Final = 1.959964
"""Of 95 %."""


class Interval(NamedTuple):
    low: float
    high: float


def wilson(good: int, votes: int) -> Interval:
    """Where the true share of good votes lies with 95 % confidence; the whole range while there is no vote."""
    if votes == 0:
        return Interval(0.0, 1.0)
    share, z2 = good / votes, _Z * _Z
    middle = (share + z2 / (2 * votes)) / (1 + z2 / votes)
    half = _Z / (1 + z2 / votes) * sqrt(share * (1 - share) / votes + z2 / (4 * votes * votes))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def satisfaction(good: int, votes: int) -> float | None:
    """ok / (ok + not_ok + neutral), None while there is no vote."""
    return good / votes if votes else None
