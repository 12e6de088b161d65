"""Request bodies of the HTTP API. Unknown fields are rejected and sizes are limited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from contracts.base import Confidence, DecidedBy, Id, Label, Origin, Reaction
from contracts.instants import DAY, Instant
from contracts.sources import FeedbackSource
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import ATTRIBUTES
from reporting.model.selection import ALWAYS, Filters, FoundType, GivenBy, TimeSpan, attribute_pairs
from reporting.turns.artifacts import KINDS, Operator, Search


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a time must be an RFC 3339 string")
    return value


Moment = Annotated[Instant, BeforeValidator(_text_only)]
"""Time, which is an RFC 3339 string in the request and an integer in microseconds since the epoch in Python."""
Days = Annotated[int, Field(ge=1, le=3650, strict=True, description="Length of the period up to now, in days.")]
Limit = Annotated[int, Field(ge=1, le=500, strict=True, description="Maximum number of items in the response.")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
TurnIds = Annotated[list[Id], Field(max_length=500)]


SOURCE_FILTER: Final = (
    "`chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements,"
    " `inference`, `review`, or `rating` for ratings on the project's own scales."
)


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

    start: Moment = Field(description="Start of the period, inclusive.")
    end: Moment = Field(description="End of the period, inclusive.")
    include_turns: Annotated[bool, Field(strict=True, description="Also return the turns and their reactions.")] = False

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start > self.end:
            raise ValueError("start must not be after end")
        return self

    @property
    def span(self) -> TimeSpan:
        return TimeSpan(self.start, self.end + 1)


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


AnswerAttributes = Annotated[
    dict[Label, Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00]+$")]],
    Field(max_length=10),
]


class AttributeFilter(RequestBody):
    """A filter by attributes of the answer.

    In a query string, each attribute is a parameter of its own, such as `attributes.language=de`.
    """

    attributes: AnswerAttributes | None = Field(
        default=None,
        description="Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query "
        "string `attributes.language=de`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _collect_attributes(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        dotted = {name: value for name, value in given.items() if str(name).startswith(ATTRIBUTES)}
        if not dotted or given.get("attributes") is not None:
            return given
        attributes = {name.removeprefix(ATTRIBUTES): value for name, value in dotted.items()}
        return {name: value for name, value in given.items() if name not in dotted} | {"attributes": attributes}


class FilterBody(AttributeFilter):
    """Filters for feedback. A record must match all of them.

    Without filters, all effective feedback and all replies match.
    """

    agent_id: Id | None = Field(default=None, description="The agent that answered.")
    agent_version: Label | None = Field(default=None, description="The agent's version.")
    model: Label | None = Field(default=None, description="The agent's language model.")
    reaction: Reaction | None = Field(default=None, description="The verdict.")
    origin: Origin | None = Field(
        default=None, description="`user` for people, `machine` for inferred verdicts, `reviewer` for reviews."
    )
    feedback_type: FoundType | None = Field(
        default=None,
        description="`reaction`, `explicit`, `inferred`, `implicit` for replies, `rating` for ratings on the project's"
        " own scales, or `verdict` for all types except `implicit` and `rating`.",
    )
    tag: Label | None = Field(default=None, description="A reason: a tag, or a machine verdict's correction type.")
    min_confidence: Confidence | None = Field(
        default=None,
        description="Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83.",
    )
    text: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")] | None = Field(
        default=None, description="Substring of the text or of the correction, ignoring case."
    )
    words: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")] | None = Field(
        default=None,
        description="At most 10 words. All of them must be in the question, or all in the answer, or all in the text"
        " and correction. Case is ignored. A word also matches the beginning of a longer word.",
    )
    user_id: Id | None = Field(
        default=None, description="The person who gave the verdict, or whose message the machine judged."
    )
    conversation_id: Id | None = Field(default=None, description="Only this conversation.")
    detector: Label | None = Field(default=None, description="Only machine verdicts of this detector version.")
    decided_by: DecidedBy | None = Field(
        default=None, description="Only machine verdicts that this part of the detector decided."
    )
    given_by: GivenBy | None = Field(
        default=None, description="`person`, or `agent` for AI critics: feedback whose user type is `agent`."
    )
    source: FeedbackSource | None = Field(default=None, description=SOURCE_FILTER)
    issue: Annotated[int, Field(ge=1, lt=2**63)] | None = Field(
        default=None, description="Only verdicts on the turns of this issue."
    )
    bundle_id: Id | None = Field(default=None, description="The bundle that produced the answer.")
    track_id: Id | None = Field(default=None, description="The track that the answer belongs to.")
    intent: Label | None = Field(default=None, description="The answer's intent.")
    strategy: Label | None = Field(default=None, description="The agent's strategy for the answer.")
    user_type: Label | None = Field(default=None, description="The person's role on the platform.")
    thread: Id | None = Field(default=None, description="The thread of the answer.")
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
        return Filters(
            agent_id=self.agent_id,
            agent_version=self.agent_version,
            model=self.model,
            reaction=self.reaction,
            origins=None if self.origin is None else (self.origin,),
            feedback_type=self.feedback_type,
            reason=self.tag,
            min_confidence=self.min_confidence,
            text=self.text,
            words=self.words,
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            detector=self.detector,
            decided_by=self.decided_by,
            given_by=self.given_by,
            source=self.source,
            issue=self.issue,
            bundle_id=self.bundle_id,
            track_id=self.track_id,
            intent=self.intent,
            strategy=self.strategy,
            user_type=self.user_type,
            thread=self.thread,
            attributes=attribute_pairs(self.attributes),
        )


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
