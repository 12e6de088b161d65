"""Base classes and field types of requests. Unknown fields are rejected and sizes are limited. No I/O."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from contracts.base import Id
from contracts.instants import Instant, parse_instant
from reporting.model.cursor import CURSOR_LIMIT


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a time must be an RFC 3339 string")
    return value


def _moment_as_sent(text: str) -> str:
    parse_instant(text)
    return text


Moment = Annotated[Instant, BeforeValidator(_text_only)]
"""Time, which is an RFC 3339 string in the request and an integer in microseconds since the epoch in Python."""
SentMoment = Annotated[str, AfterValidator(_moment_as_sent), WithJsonSchema({"type": "string", "format": "date-time"})]
"""RFC 3339 string, which stays as it was sent."""
Days = Annotated[int, Field(ge=1, le=3650, strict=True, description="Length of the period up to now, in days.")]
Limit = Annotated[int, Field(ge=1, le=500, strict=True, description="Maximum number of items in the response.")]
TurnIds = Annotated[list[Id], Field(max_length=500)]


class RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Paged(RequestBody):
    """A query with several pages.

    To get the next page, send `next_cursor` from the response as `cursor`. It is null on the last page.
    """

    limit: Limit = 100
    cursor: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = Field(
        default=None, description="The previous page's `next_cursor`; a cursor of another query gives 400."
    )
