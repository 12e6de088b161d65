"""Body of the explicit feedback route. It is validated completely before anything is published."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contracts.base import Id, Reaction, Text
from contracts.fields import Tags
from contracts.instants import Instant


class InvalidReaction(Exception):
    """The reaction is missing, or none of ok, not_ok, neutral and null."""


class Malformed(Exception):
    """The body does not read as a feedback; `faults` are pydantic's complaints."""

    def __init__(self, faults: list[Any]) -> None:
        super().__init__("malformed")
        self.faults = faults


class GivenFeedback(BaseModel):
    """A person's judgement of a turn. `reaction` null takes it back; a `ts` in the future becomes now."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    reaction: Reaction | None = Field(description="ok, not_ok or neutral; null takes the judgement back.")
    text: Text | None = Field(default=None, description="Why, in the person's own words.")
    ts: Instant | None = Field(default=None, description="When it was said, RFC 3339 with an offset; else now.")
    tags: Tags = Field(default=(), description="Reasons, such as `wrong` or `too_long`.")
    correction: Text | None = Field(default=None, description="What the answer should have been.")
    user_id: Annotated[Id | None, Field(description="Another person's judgement; needs the scope on_behalf.")] = None

    @field_validator("tags")
    @classmethod
    def _each_once(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tags))


EXAMPLES: dict[str, dict[str, Any]] = {
    "up": {"summary": "A good answer", "value": {"reaction": "ok"}},
    "down": {
        "summary": "A bad one, and what it should have been",
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
    """The feedback that a JSON body holds. Raises InvalidReaction or Malformed."""
    try:
        return GivenFeedback.model_validate_json(body)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
    except (ValueError, RecursionError):
        raise Malformed([{"loc": (), "msg": "not one JSON value in UTF-8"}]) from None
    if any(fault["loc"][:1] == ("reaction",) for fault in faults):
        raise InvalidReaction
    raise Malformed(list(faults))
