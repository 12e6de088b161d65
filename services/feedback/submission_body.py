"""Request body of the route for explicit feedback. It is validated as a whole before anything is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contracts.base import Id, Reaction, Text
from contracts.fields import MOST_POINTS, ScaleName, Tags
from contracts.instants import Instant
from feedback.ratings import RatingScale, meaning_of
from feedback.submission import GivenRating, Judgement
from servicekit import RequestRefused


class GivenFeedback(BaseModel):
    """A person's judgement of a turn: a reaction or a rating. Null retracts it. A `ts` in the future becomes now."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        json_schema_extra={
            "oneOf": [{"required": ["reaction"]}, {"required": ["rating"]}],
            "dependentRequired": {"scale": ["rating"]},
        },
    )

    reaction: Reaction | None = Field(
        default=None,
        description="ok, not_ok or neutral; null retracts the judgement. Must not be given together with `rating`.",
    )
    rating: Annotated[int, Field(ge=0, le=MOST_POINTS)] | None = Field(
        default=None, description="A rating on `scale`, instead of `reaction`; null retracts it."
    )
    scale: Annotated[int, Field(ge=2, le=MOST_POINTS)] | ScaleName | None = Field(
        default=None,
        description="The scale of `rating`: a number of points, for a rating of the answer from 1 to that number, or "
        "the name of one of the project's own scales (`FEEDBACK_SCALES`).",
    )
    text: Text | None = Field(default=None, description="The reason, in the person's own words.")
    ts: Instant | None = Field(default=None, description="The time, RFC 3339 with an offset; default: now.")
    tags: Tags = Field(default=(), description="Reasons, such as `wrong` or `too_long`.")
    correction: Text | None = Field(default=None, description="What the answer should have been.")
    user_id: Annotated[Id | None, Field(description="The person, if not the caller; needs the scope on_behalf.")] = None

    @field_validator("tags")
    @classmethod
    def _each_once(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tags))

    def judgement(self, user_id: str, scales: Mapping[str, RatingScale]) -> Judgement:
        """Convert the body to a judgement by `user_id`.

        Args:
            scales: The rating scales that the project defines, by name.

        Raises:
            RequestRefused: The scale is unknown, the rating is outside its scale, or the scale does not allow one of
                the fields. The status is 400.
        """
        said = Judgement(user_id, self.reaction, self.ts, self.text, self.tags, self.correction)
        if "rating" not in self.model_fields_set:
            return said
        if isinstance(self.scale, str):
            name, scale = self.scale, scales.get(self.scale)
        else:
            name, scale = None, RatingScale(worst=1, best=self.scale or 2)
        if name is not None and (self.tags or self.correction):
            raise RequestRefused(
                400, "A rating on one of the project's own scales takes a text, no tags or correction."
            )
        if scale is None or (self.scale is None and self.rating is not None):
            raise RequestRefused(400, _scale_sentence(scales))
        if self.rating is None:
            return replace(said, scale=name)
        if not scale.lowest <= self.rating <= scale.highest:
            raise RequestRefused(400, f"The rating must be a whole number from {scale.lowest} to {scale.highest}.")
        given_rating = GivenRating(self.rating, scale.worst, scale.best)
        return replace(said, reaction=meaning_of(*given_rating).reaction, rating=given_rating, scale=name)


EXAMPLES: dict[str, dict[str, Any]] = {
    "up": {"summary": "A good answer", "value": {"reaction": "ok"}},
    "rating": {"summary": "Four of five points", "value": {"rating": 4, "scale": 5}},
    "scale": {"summary": "A rating on the project's scale `polite`", "value": {"rating": 2, "scale": "polite"}},
    "down": {
        "summary": "A bad answer, and what it should have been",
        "value": {
            "reaction": "not_ok",
            "text": "The price is out of date.",
            "tags": ["wrong"],
            "correction": "It costs 24 euros since March.",
            "ts": "2026-11-20T09:30:00Z",
        },
    },
}


def given(body: bytes) -> GivenFeedback:
    """Parse a JSON body.

    Raises:
        RequestRefused: The reaction, rating or scale is invalid. The status is 400.
        ValidationError: Another field, or the JSON itself, is invalid.
    """
    try:
        parsed = GivenFeedback.model_validate_json(body)
    except ValidationError as error:
        wrong = {fault["loc"][:1] for fault in error.errors()}
        for name, sentence in _SENTENCES.items():
            if (name,) in wrong:
                raise RequestRefused(400, sentence) from None
        raise
    said = parsed.model_fields_set
    if {"reaction", "rating"} <= said:
        raise RequestRefused(400, "Send a reaction or a rating, not both.")
    if "scale" in said and "rating" not in said:
        raise RequestRefused(400, "A scale needs a rating.")
    if not said & {"reaction", "rating"}:
        raise RequestRefused(400, _SENTENCES["reaction"])
    return parsed


_SENTENCES: Final = {
    "reaction": "The reaction must be ok, not_ok, neutral or null.",
    "rating": f"The rating must be a whole number from 0 to {MOST_POINTS}, or null.",
    "scale": f"The scale must be a number of points from 2 to {MOST_POINTS}, or the name of a scale of the project.",
}
"""Error messages for fields of the wrong type."""


def _scale_sentence(scales: Mapping[str, RatingScale]) -> str:
    own = f"one of the project's scales: {', '.join(sorted(scales))}" if scales else "a scale (this project has none)"
    return f"The scale must be a number of points from 2 to {MOST_POINTS}, or the name of {own}."
