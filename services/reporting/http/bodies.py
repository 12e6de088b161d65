"""Request bodies and query parameters of the HTTP API. Unknown fields are rejected and sizes are limited."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from contracts.base import Id, Label
from contracts.instants import DAY, Instant, parse_instant
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import DimensionName
from reporting.model.selection import (
    ALWAYS,
    Bucket,
    FeedbackFilter,
    Filters,
    ListFilter,
    TimeSpan,
    filters_of,
)
from reporting.turns.artifacts import KINDS, Operator, Search


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a time must be an RFC 3339 string")
    return value


def _moment_as_sent(text: str) -> str:
    parse_instant(text)
    return text


DEFAULT_DAYS: Final = 30
Moment = Annotated[Instant, BeforeValidator(_text_only)]
"""Time, which is an RFC 3339 string in the request and an integer in microseconds since the epoch in Python."""
SentMoment = Annotated[str, AfterValidator(_moment_as_sent), WithJsonSchema({"type": "string", "format": "date-time"})]
"""RFC 3339 string, which stays as it was sent."""
Days = Annotated[int, Field(ge=1, le=3650, strict=True, description="Length of the period up to now, in days.")]
Limit = Annotated[int, Field(ge=1, le=500, strict=True, description="Maximum number of items in the response.")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
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


class TurnsBody(Paged):
    """Query for turns with feedback."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": None, "days": 365}]})

    turn_ids: TurnIds | None = Field(default=None, description="Ids of the turns; null for all turns with feedback.")
    days: Days = 365
    limit: Limit = 500


class PeriodBody(Paged):
    """Query for reactions from `start` to `end`, both inclusive."""

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

    start: SentMoment = Field(description="Start of the period, inclusive.")
    end: SentMoment = Field(description="End of the period, inclusive.")
    include_turns: Annotated[bool, Field(strict=True, description="Also return the turns and their reactions.")] = False

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.span.start >= self.span.end:
            raise ValueError("start must not be after end")
        return self

    @property
    def span(self) -> TimeSpan:
        return TimeSpan(parse_instant(self.start), parse_instant(self.end) + 1)


class LatestBody(Paged):
    """Query for changes. Omit `since` and `watermark` in the first query.

    In later queries, send the `watermark` from the last response.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": ["t-7"], "since": "2026-11-20T09:00:00Z"}]})

    turn_ids: TurnIds | None = Field(default=None, description="Ids of the turns; null for all turns.")
    since: Moment | None = Field(
        default=None,
        description="Only changes recorded after this time. Some changes may be missed, because a record with an"
        " earlier time may become visible later. Use `watermark` to get all changes.",
    )
    watermark: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = Field(
        default=None, description="The `watermark` of an earlier response: only changes that were not visible then."
    )
    limit: Limit = 500

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.since is not None and self.watermark is not None:
            raise ValueError("give since or watermark, not both")
        return self


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


class ListQuestion(FilteredQuestion):
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of items in the response.")] = 200


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


class RankingQuestion(ListQuestion):
    min_votes: Annotated[
        int, Field(ge=1, le=1_000_000, description="Minimum number of verdicts of one side (people or the machine).")
    ] = 10


class MomentFilter(RequestBody):
    op: Annotated[Operator, Field(description="Comparison operator.")]
    value: Annotated[Moment, Field(description="The time to compare with, RFC 3339.")]


class ArtifactsBody(RequestBody):
    """Search for artifacts.

    The scope `conversation` requires `conversation_id`, and `user_id` is an optional filter. The scope `user` requires
    `user_id`, and `conversation_id` is an optional filter. For compatibility with older clients, kinds and tags may
    start with `kind:`.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "kinds": ["turn.log.reaction"],
                    "roles": ["artifact"],
                    "scope": "conversation",
                    "conversation_id": "c-42",
                    "all_tags": ["origin:user"],
                    "days": 365,
                    "timestamp_filters": [{"op": ">=", "value": "2026-11-01T00:00:00Z"}],
                    "sort": "newest",
                    "limit": 50,
                    "with_payload": True,
                }
            ]
        }
    )

    kinds: Annotated[list[Label], Field(max_length=10)] | None = Field(
        default=None, description="Kinds to find; null for all."
    )
    roles: Annotated[list[Label], Field(max_length=10)] | None = Field(
        default=None, description="Roles to find; null for all."
    )
    scope: Literal["conversation", "user"] = Field(
        default="conversation", description="Search in one conversation or for one person."
    )
    conversation_id: Annotated[Id | None, Field(description="The conversation to search.")] = None
    user_id: Annotated[Id | None, Field(description="The person to search for.")] = None
    all_tags: Annotated[list[Tag], Field(max_length=20, description="Tags; an artifact must have all of them.")] = []
    days: Days = 365
    timestamp_filters: Annotated[
        list[MomentFilter], Field(max_length=10, description="Conditions on the time; all must hold.")
    ] = []
    sort: Annotated[
        Literal["recency", "newest", "oldest"], Field(description="`recency` is another name for `newest`.")
    ] = "newest"
    limit: Limit = 100
    with_payload: Annotated[
        bool, Field(strict=True, description="True to return each artifact's complete content.")
    ] = False

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.conversation_id if self.scope == "conversation" else self.user_id) is None:
            raise ValueError(f"the scope {self.scope} needs {self.scope}_id")
        return self

    def search(self, now: int) -> Search:
        """Convert the body to search criteria. `now` is in microseconds."""
        kinds = KINDS if self.kinds is None else [_kind(name) for name in self.kinds]
        wanted = self.roles is None or "artifact" in self.roles
        return Search(
            kinds=[kind for kind in KINDS if wanted and kind in kinds],
            conversation_id=self.conversation_id,
            user_id=self.user_id,
            all_tags=[f"artifact:{_kind(tag)}" if tag.startswith("kind:") else tag for tag in self.all_tags],
            since=max(0, now - self.days * DAY),
            moments=[(timestamp_filter.op, timestamp_filter.value) for timestamp_filter in self.timestamp_filters],
            oldest_first=self.sort == "oldest",
            limit=self.limit,
        )


def _kind(name: str) -> str:
    return name.removeprefix("kind:").removeprefix("artifact:")
