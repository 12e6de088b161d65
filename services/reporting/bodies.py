"""What the HTTP API takes: bounded, and nothing that it does not know."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from contracts.base import Id, Label
from contracts.instants import DAY, Instant
from reporting.cursor import CURSOR_LIMIT
from reporting.queries.artifacts import KINDS, Operator, Search
from reporting.scope import Span


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a time must be an RFC 3339 string")
    return value


Moment = Annotated[Instant, BeforeValidator(_text_only)]
"""A time in a body: a string there, microseconds since the epoch here."""
Days = Annotated[int, Field(ge=1, le=3650, strict=True, description="How far back, in days from now.")]
Limit = Annotated[int, Field(ge=1, le=500, strict=True, description="How many at most.")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
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


class LatestBody(Body):
    """`turn_ids` null means all turns; `since` compares when a feedback was recorded."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": ["t-7"], "since": "2026-11-20T09:00:00Z"}]})

    turn_ids: TurnIds | None = None
    since: Moment | None = None


class MomentFilter(Body):
    op: Operator
    value: Moment


class ArtifactsBody(Body):
    """`scope` says which of `conversation_id` and `user_id` must be given; the other narrows further.

    Kinds and tags may be written with the old prefix `kind:`.
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

    kinds: Annotated[list[Label], Field(max_length=10)] | None = None
    roles: Annotated[list[Label], Field(max_length=10)] | None = None
    scope: Literal["conversation", "user"] = "conversation"
    conversation_id: Id | None = None
    user_id: Id | None = None
    all_tags: Annotated[list[Tag], Field(max_length=20)] = []
    days: Days = 365
    timestamp_filters: Annotated[list[MomentFilter], Field(max_length=10)] = []
    sort: Literal["newest", "oldest"] = "newest"
    limit: Limit = 100
    with_payload: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.conversation_id if self.scope == "conversation" else self.user_id) is None:
            raise ValueError(f"the scope {self.scope} needs {self.scope}_id")
        return self

    def search(self, now: int) -> Search:
        """The search this body asks for, `now` being microseconds."""
        asked = KINDS if self.kinds is None else [_kind(name) for name in self.kinds]
        wanted = self.roles is None or "artifact" in self.roles
        return Search(
            kinds=[kind for kind in KINDS if wanted and kind in asked],
            conversation_id=self.conversation_id,
            user_id=self.user_id,
            all_tags=[f"artifact:{_kind(tag)}" if tag.startswith("kind:") else tag for tag in self.all_tags],
            since=max(0, now - self.days * DAY),
            moments=[(one.op, one.value) for one in self.timestamp_filters],
            oldest_first=self.sort == "oldest",
            limit=self.limit,
        )


def _kind(name: str) -> str:
    return name.removeprefix("kind:").removeprefix("artifact:")
