"""Query parameters of the statistics routes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Self

from pydantic import Field, model_validator

from contracts.base import DecidedBy, Id, Label, Origin
from contracts.instants import DAY
from contracts.sources import FeedbackSource
from reporting.http.bodies import SOURCE_FILTER, AttributeFilter, Moment, RequestBody
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import DimensionName
from reporting.model.selection import Bucket, Filters, GivenBy, TimeSpan, attribute_pairs

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


class FilteredQuestion(WindowQuestion, AttributeFilter):
    """A time window and filters."""

    agent_id: Id | None = Field(default=None, description="Only this agent.")
    agent_version: Label | None = Field(default=None, description="Only this version of the agent.")
    origin: Origin | None = Field(
        default=None, description="`user` for people, `machine` for inferred verdicts, `reviewer` for reviews."
    )
    given_by: GivenBy | None = Field(
        default=None, description="`person`, or `agent` for AI critics: feedback whose user type is `agent`."
    )

    source: FeedbackSource | None = Field(default=None, description=SOURCE_FILTER)
    bundle_id: Id | None = Field(default=None, description="The bundle that produced the answer.")
    track_id: Id | None = Field(default=None, description="The track that the answer belongs to.")
    intent: Label | None = Field(default=None, description="The answer's intent.")
    strategy: Label | None = Field(default=None, description="The agent's strategy for the answer.")
    user_type: Label | None = Field(default=None, description="The person's role on the platform.")
    thread: Id | None = Field(default=None, description="The thread of the answer.")

    @property
    def filters(self) -> Filters:
        return Filters(
            agent_id=self.agent_id,
            agent_version=self.agent_version,
            origins=None if self.origin is None else (self.origin,),
            given_by=self.given_by,
            source=self.source,
            bundle_id=self.bundle_id,
            track_id=self.track_id,
            intent=self.intent,
            strategy=self.strategy,
            user_type=self.user_type,
            thread=self.thread,
            attributes=attribute_pairs(self.attributes),
        )


class CalibrationQuestion(FilteredQuestion):
    """A time window and filters for machine verdicts."""

    detector: Label | None = Field(default=None, description="Only verdicts of this detector version.")
    decided_by: DecidedBy | None = Field(
        default=None, description="Only verdicts that this part of the detector decided."
    )

    @property
    def filters(self) -> Filters:
        return replace(super().filters, detector=self.detector, decided_by=self.decided_by)


class SessionsBody(WindowQuestion):
    bucket: Bucket = Field(default="day", description="Width of a bucket, in UTC.")


class PagedQuestion(FilteredQuestion):
    """A query with several pages. All pages cover the time window of the first page."""

    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of items in the response.")] = 200
    cursor: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = Field(
        default=None, description="The previous page's `next_cursor`; a cursor of another query gives 400."
    )

    @property
    def asked(self) -> tuple[object, ...]:
        """Return the parameters that must be the same for all pages of a query."""
        return self.start, self.end, asdict(self.filters)


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
    def asked(self) -> tuple[object, ...]:
        return *super().asked, self.min_votes
