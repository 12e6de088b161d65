"""Conversion of ratings to reactions and rewards. No I/O."""

from __future__ import annotations

from typing import Final, NamedTuple

from contracts.base import Reaction

ABSTAINS_BELOW: Final = 0.25
"""A rating whose reward is nearer to 0 than this is neutral, because a wrong reward is worse than none."""


class Meaning(NamedTuple):
    """Reaction and reward of a rating. The reward is from -1 to 1."""

    reaction: Reaction
    value: float


def meaning_of(rating: int, worst: int, best: int) -> Meaning:
    """Convert a rating to a reaction and a reward.

    The reward is the rating's position between the worst rating (-1) and the best rating (1). A rating near the middle
    is neutral, with the reward 0.

    Raises:
        ValueError: The rating is not on the scale.
    """
    if worst == best or not min(worst, best) <= rating <= max(worst, best):
        raise ValueError("a rating must be on its scale")
    value = (2 * rating - worst - best) / (best - worst)
    if abs(value) < ABSTAINS_BELOW:
        return Meaning("neutral", 0.0)
    return Meaning("ok" if value > 0 else "not_ok", value)
