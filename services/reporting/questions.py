"""Query parameters of the figures: a window and what narrows it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from contracts.base import Id, Label, Origin
from contracts.instants import DAY
from reporting.bodies import Body, Moment
from reporting.scope import Bucket, Filters, Span

DEFAULT_DAYS = 30


class Window(Body):
    """From `start` on and before `end`; the end is now and the start 30 days earlier where they are not given."""

    start: Moment | None = None
    end: Moment | None = None

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("start must be before end")
        return self

    def span(self, now: int) -> Span:
        """The window in microseconds; at least one of them long."""
        end = max(now + 1, (self.start or 0) + 1) if self.end is None else self.end
        start = max(0, end - DEFAULT_DAYS * DAY) if self.start is None else self.start
        return Span(min(start, max(0, end - 1)), end)


class Narrowed(Window):
    agent_id: Id | None = None
    agent_version: Label | None = None
    origin: Origin | None = None

    @property
    def filters(self) -> Filters:
        return Filters(self.agent_id, self.agent_version, self.origin)


class SummaryQuestion(Narrowed):
    bucket: Bucket = "day"


class RankingQuestion(Narrowed):
    min_votes: Annotated[int, Field(ge=1, le=1_000_000)] = 10
