"""Filters and time windows in request bodies and query parameters of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from contracts.base import Id
from contracts.instants import DAY, LAST
from reporting.model.dimensions import DimensionName
from reporting.model.requests import Moment, Paged, RequestBody
from reporting.model.selection import ALWAYS, Bucket, FeedbackFilter, Filters, ListFilter, TimeSpan, filters_of

DEFAULT_DAYS: Final = 30


class FilterBody(ListFilter):
    """Filters for feedback, and a period. A record must match all of them.

    Without filters, all effective feedback and all replies match.
    """

    start: Moment | None = Field(default=None, description="Earliest time of the reaction, inclusive.")
    end: Moment | None = Field(default=None, description="Latest time of the reaction, inclusive.")

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError("start must not be after end")
        return self

    @property
    def span(self) -> TimeSpan:
        return TimeSpan(self.start or 0, ALWAYS.end if self.end is None else self.end + 1)

    @property
    def filters(self) -> Filters:
        return filters_of(self)


class SearchBody(FilterBody, Paged):
    """Search filters. A record must match all of them.

    Without filters, all effective feedback and all replies match.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"agent_id": "trip-planner", "reaction": "not_ok", "start": "2026-11-01T00:00:00Z"}]
        }
    )

    sort: Literal["newest", "oldest"] = Field(default="newest", description="Order by the time of the feedback.")


class WindowQuery(RequestBody):
    """A time window from `start` (inclusive) to `end` (exclusive). The default is the last 30 days."""

    start: Moment | None = Field(
        default=None, description="Start of the window, inclusive; by default 30 days before the end."
    )
    end: Moment | None = Field(default=None, description="End of the window, exclusive; by default now.")

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("start must be before end")
        return self

    def span(self, now: int) -> TimeSpan:
        """Return the time window in microseconds since the epoch. It is at least one microsecond long."""
        end = min(max(now, self.start or 0) + 1, LAST) if self.end is None else self.end
        start = max(0, end - DEFAULT_DAYS * DAY) if self.start is None else self.start
        return TimeSpan(min(start, max(0, end - 1)), end)


class FilteredQuery(WindowQuery, FeedbackFilter):
    """A time window and filters."""

    @property
    def filters(self) -> Filters:
        return filters_of(self)


class SessionsBody(WindowQuery):
    bucket: Bucket = Field(default="day", description="Width of a bucket, in UTC.")


class ListQuery(FilteredQuery):
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of items in the response.")] = 200


class SummaryQuery(FilteredQuery):
    bucket: Bucket = Field(default="day", description="Width of a bucket, in UTC.")


class ComparisonQuery(FilteredQuery):
    """Two values of a dimension to compare, with a time window and filters."""

    by: DimensionName = Field(
        default="version",
        description="The dimension: `version`, `model`, `agent`, `strategy`, `bundle`, `track`, `intent`, `user_type`,"
        " or an attribute of the answers such as `attributes.language`.",
    )
    a: Id = Field(description="The first value, such as the older version.")
    b: Id = Field(description="The second value, such as the newer version.")

    @model_validator(mode="after")
    def _compares_two(self) -> Self:
        if self.a == self.b:
            raise ValueError("a and b must differ")
        return self


class RankingQuery(ListQuery):
    min_votes: Annotated[
        int, Field(ge=1, le=1_000_000, description="Minimum number of verdicts of one side (people or the machine).")
    ] = 10
