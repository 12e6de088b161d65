"""Query parameters of the statistics routes."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from contracts.base import Id
from contracts.instants import DAY
from reporting.http.bodies import Moment, RequestBody
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import DimensionName
from reporting.model.selection import Bucket, FeedbackFilter, Filters, TimeSpan, filters_of

DEFAULT_DAYS = 30


class WindowQuestion(RequestBody):
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
        end = max(now + 1, (self.start or 0) + 1) if self.end is None else self.end
        start = max(0, end - DEFAULT_DAYS * DAY) if self.start is None else self.start
        return TimeSpan(min(start, max(0, end - 1)), end)


class FilteredQuestion(WindowQuestion, FeedbackFilter):
    """A time window and filters."""

    @property
    def filters(self) -> Filters:
        return filters_of(self)


class SessionsBody(WindowQuestion):
    bucket: Bucket = Field(default="day", description="Width of a bucket, in UTC.")


class PagedQuestion(FilteredQuestion):
    """A query with several pages. All pages cover the time window of the first page."""

    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of items in the response.")] = 200
    cursor: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = Field(
        default=None, description="The previous page's `next_cursor`; a cursor of another query gives 400."
    )

    @property
    def parameters(self) -> tuple[object, ...]:
        """Return the parameters that must be the same for all pages of a query."""
        return self.start, self.end, self.filters.model_dump()


class SummaryQuestion(FilteredQuestion):
    bucket: Bucket = Field(default="day", description="Width of a bucket, in UTC.")


class ComparisonQuestion(FilteredQuestion):
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


class RankingQuestion(PagedQuestion):
    min_votes: Annotated[
        int, Field(ge=1, le=1_000_000, description="Minimum number of verdicts of one side (people or the machine).")
    ] = 10

    @property
    def parameters(self) -> tuple[object, ...]:
        return *super().parameters, self.min_votes
