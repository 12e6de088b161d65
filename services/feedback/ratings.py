"""Rating scales, and the conversion of ratings to reactions and rewards. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contracts.base import Reaction
from contracts.fields import MOST_POINTS, ScaleName

ABSTAINS_BELOW: Final = 0.25
"""A rating whose reward is nearer to 0 than this is neutral, because a wrong reward is worse than none."""


class RatingScale(BaseModel):
    """Rating scale, from the worst to the best rating. The best may be the lower number, as in some school grades."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    worst: Annotated[int, Field(ge=0, le=MOST_POINTS)]
    best: Annotated[int, Field(ge=0, le=MOST_POINTS)]

    @model_validator(mode="after")
    def _has_two_ends(self) -> RatingScale:
        if self.worst == self.best:
            raise ValueError("the worst and the best rating of a scale must differ")
        return self

    @property
    def lowest(self) -> int:
        return min(self.worst, self.best)

    @property
    def highest(self) -> int:
        return max(self.worst, self.best)


ScaleChanges = dict[ScaleName, RatingScale | None]
"""New scales by name. None removes a scale."""


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


def changed_scales(scales: Mapping[str, RatingScale], changes: ScaleChanges) -> Mapping[str, RatingScale]:
    """Return `scales` with `changes` applied."""
    return {name: scale for name, scale in {**scales, **changes}.items() if scale is not None}
