"""Body of the explicit feedback route. It is validated completely before anything is published."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contracts.base import Id, Reaction, Text
from contracts.fields import Tags
from contracts.instants import Instant
from servicekit import RequestRefused


class GivenFeedback(BaseModel):
    """Judgement of a turn by a person. `reaction` null retracts it; a `ts` in the future becomes now."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    reaction: Reaction | None = Field(description="ok, not_ok or neutral; null retracts the judgement.")
    text: Text | None = Field(default=None, description="The reason, in the person's own words.")
    ts: Instant | None = Field(default=None, description="The time, RFC 3339 with an offset; default: now.")
    tags: Tags = Field(default=(), description="Reasons, such as `wrong` or `too_long`.")
    correction: Text | None = Field(default=None, description="What the answer should have been.")
    user_id: Annotated[Id | None, Field(description="The person, if not the caller; needs the scope on_behalf.")] = None

    @field_validator("tags")
    @classmethod
    def _each_once(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tags))


EXAMPLES: dict[str, dict[str, Any]] = {
    "up": {"summary": "A good answer", "value": {"reaction": "ok"}},
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
    """Parse a JSON body. Raises RequestRefused 400 for a missing or unknown reaction, else ValidationError."""
    try:
        return GivenFeedback.model_validate_json(body)
    except ValidationError as error:
        if any(fault["loc"][:1] == ("reaction",) for fault in error.errors()):
            raise RequestRefused(400, "The reaction must be ok, not_ok, neutral or null.") from None
        raise
