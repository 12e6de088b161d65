"""What the HTTP API takes: bounded, and nothing that it does not know."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from contracts.base import Id
from contracts.instants import Instant
from reporting.cursor import CURSOR_LIMIT
from reporting.scope import Span

def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a time must be an RFC 3339 string")
    return value


Moment = Annotated[Instant, BeforeValidator(_text_only)]
"""A time in a body: a string there, microseconds since the epoch here."""
Days = Annotated[int, Field(ge=1, le=3650, strict=True, description="How far back, in days from now.")]
Limit = Annotated[int, Field(ge=1, le=500, strict=True, description="How many at most.")]
TurnIds = Annotated[list[Id], Field(max_length=500)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TurnsBody(Body):
    """`turn_ids` null means every turn with feedback."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": None, "days": 365}]})

    turn_ids: TurnIds | None = None
    days: Days = 365


class PeriodBody(Body):
    """Reactions given from `start` on and before `end`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "start": "2026-11-01T00:00:00Z",
                    "end": "2026-12-01T00:00:00Z",
                    "include_turns": True,
                    "limit": 50,
                    "cursor": None,
                }
            ]
        }
    )

    start: Moment
    end: Moment
    include_turns: Annotated[bool, Field(strict=True)] = False
    limit: Limit = 100
    cursor: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = None

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start >= self.end:
            raise ValueError("start must be before end")
        return self

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)
