"""Request body of the route for explicit feedback. It is validated as a whole before anything is published."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contracts.base import Id, Reaction, Text
from contracts.fields import MOST_POINTS, Tags
from contracts.instants import Instant
from feedback.reward import reaction_of, value_of
from feedback.submission import TurnJudgement
from servicekit.errors import RequestRefused


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
    rating: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = Field(
        default=None, description="A rating from 1 to `scale`, instead of `reaction`; null retracts it."
    )
    scale: Annotated[int, Field(ge=2, le=MOST_POINTS)] | None = Field(
        default=None, description="The number of points of the scale of `rating`."
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

    def judgement(self, user_id: str) -> TurnJudgement:
        """Convert the body to a judgement by `user_id`.

        Raises:
            RequestRefused: The rating has no scale, or is not on it. The status is 400.
        """
        judgement = TurnJudgement(user_id, self.reaction, self.ts, self.text, self.tags, self.correction)
        if self.rating is None:
            return judgement
        if self.scale is None:
            raise RequestRefused(400, _SENTENCES["scale"])
        if self.rating > self.scale:
            raise RequestRefused(400, f"The rating must be a whole number from 1 to {self.scale}.")
        reaction = reaction_of(value_of(self.rating, 1, self.scale))
        return replace(judgement, reaction=reaction, rating=self.rating, best_rating=self.scale)


EXAMPLES: dict[str, dict[str, Any]] = {
    "up": {"summary": "A good answer", "value": {"reaction": "ok"}},
    "rating": {"summary": "Four of five points", "value": {"rating": 4, "scale": 5}},
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
    names = parsed.model_fields_set
    if {"reaction", "rating"} <= names:
        raise RequestRefused(400, "Send a reaction or a rating, not both.")
    if "scale" in names and "rating" not in names:
        raise RequestRefused(400, "A scale needs a rating.")
    if not names & {"reaction", "rating"}:
        raise RequestRefused(400, _SENTENCES["reaction"])
    return parsed


_SENTENCES: Final = {
    "reaction": "The reaction must be ok, not_ok, neutral or null.",
    "rating": f"The rating must be a whole number from 1 to {MOST_POINTS}, or null.",
    "scale": f"The scale must be a number of points from 2 to {MOST_POINTS}.",
}
"""Error messages for fields of the wrong type."""
