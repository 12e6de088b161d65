"""State of a page, such as its filters, parsed from its URL. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from urllib.parse import quote, quote_plus
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from contracts.base import Confidence, Id, Label, Name, Origin, Reaction
from contracts.instants import DAY, MINUTE
from contracts.sources import FeedbackSource
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import ATTRIBUTES, DimensionName
from reporting.model.selection import BINS, Filters, FoundType, GivenBy, Judged, Project, TimeSpan
from reporting.pages.zones import known_zones, parse_local, zone_of

Link = Callable[..., str]
"""Function that returns the URL of a page with the current filters and some changes: `link(path, **changes)`."""
Period = Literal["24h", "7d", "30d", "90d", "all"]
PERIODS: Final[dict[Period, tuple[str, int]]] = {
    "24h": ("24 hours", DAY),
    "7d": ("7 days", 7 * DAY),
    "30d": ("30 days", 30 * DAY),
    "90d": ("90 days", 90 * DAY),
    "all": ("All time", 0),
}
ORIGINS: Final[dict[Origin, str]] = {"user": "People", "machine": "Machine", "reviewer": "Reviewers"}
_REVIEWED_MACHINE: Final[tuple[Origin, ...]] = ("machine", "reviewer")
"""Origins selected by the filter `machine`: machine verdicts, and the reviews that replace them."""
_AHEAD: Final = 10 * MINUTE  # timestamps of feedback may be slightly ahead of this clock


def _given(value: object) -> object:
    return value or None


def _given_number(value: object) -> object:
    return None if value == "" else value


def _zone(value: object) -> object:
    if value and value not in known_zones():
        raise ValueError("not the name of a time zone")
    return value or None


_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]*")
_IN_QUEUE: Final = ("queue", "last", "last_turn", "last_mark")


Empty = BeforeValidator(_given)
_Day = Annotated[Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$")] | None, Empty]
_Position = Annotated[Annotated[str, Field(max_length=CURSOR_LIMIT)] | None, Empty]


class FilterChip(NamedTuple):
    """Filter that is set, as it is shown above a page. `name` is its URL parameter."""

    name: str
    label: str
    value: str


FILTER_LABELS: Final = {
    "agent": "Agent",
    "version": "Version",
    "model": "Model",
    "reaction": "Verdict",
    "origin": "Given by",
    "by": "Critics",
    "source": "Source",
    "type": "Type",
    "q": "Words",
    "reason": "Reason",
    "confidence": "Confidence at least",
    "user": "Person",
    "conversation": "Conversation",
    "thread": "Thread",
    "bundle": "Bundle",
    "track": "Track",
    "intent": "Intent",
    "strategy": "Strategy",
    "user_type": "Kind of person",
}
"""Filters of the form, by their URL parameter. Attributes of answers follow them."""
_VALUE_NAMES: Final[dict[tuple[str, object], str]] = {
    ("reaction", "ok"): "OK",
    ("reaction", "not_ok"): "Not OK",
    ("reaction", "neutral"): "Neutral",
    ("origin", "user"): "People",
    ("origin", "machine"): "Machine, reviewed or not",
    ("origin", "reviewer"): "Reviewers",
    ("by", "person"): "People only",
    ("by", "agent"): "AI critics only",
    ("type", "verdict"): "Verdicts only",
    ("type", "reaction"): "Emoji",
    ("type", "implicit"): "Replies",
}


class View(BaseModel):
    """State of a page, encoded in its URL. Empty form fields count as missing."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    at: Annotated[str | None, Empty] = None
    """The selected project as `tenant/project`."""
    tenant: Annotated[Name | None, Empty] = None
    project: Annotated[Name | None, Empty] = None
    period: Period = "7d"
    start: _Day = Field(default=None, alias="from")
    """First day or minute of a custom range, in the time zone `tz`. A custom range takes precedence over `period`."""
    end: _Day = Field(default=None, alias="to")
    """Last day or minute of a custom range, inclusive."""
    tz: Annotated[str | None, BeforeValidator(_zone)] = None
    origin: Annotated[Origin | None, Empty] = None
    by: Annotated[GivenBy | None, Empty] = None
    """Only feedback by people (`person`), or only by AI critics (`agent`)."""
    source: Annotated[FeedbackSource | None, Empty] = None
    agent: Annotated[Id | None, Empty] = None
    version: Annotated[Label | None, Empty] = None
    model: Annotated[Label | None, Empty] = None
    bundle: Annotated[Id | None, Empty] = None
    track: Annotated[Id | None, Empty] = None
    intent: Annotated[Label | None, Empty] = None
    strategy: Annotated[Label | None, Empty] = None
    user_type: Annotated[Label | None, Empty] = None
    thread: Annotated[Id | None, Empty] = None
    attributes: Annotated[
        dict[Label, Annotated[str, Field(max_length=256, pattern=r"^[^\x00]+$")]], Field(max_length=10)
    ] = {}
    """Attributes of the answer; in the URL each is `attributes.NAME`."""
    reaction: Annotated[Reaction | None, Empty] = None
    type: Annotated[FoundType | None, Empty] = None
    judged: Annotated[Judged | None, Empty] = None
    """Only machine verdicts on turns to which a person or reviewer gave this verdict, or any verdict."""
    bin: Annotated[Annotated[int, Field(ge=0, lt=BINS)] | None, BeforeValidator(_given_number)] = None
    """Only machine verdicts with a confidence in this bin of the accuracy page, 0 to 19."""
    reason: Annotated[Label | None, Empty] = None
    confidence: Annotated[Confidence | None, Empty] = None
    """Minimum confidence, 0 to 1."""
    state: Annotated[Literal["all", "open", "resolved", "muted", "regressed"] | None, Empty] = None
    """Issue list: only issues in this state. None selects open and regressed issues."""
    q: Annotated[Annotated[str, Field(max_length=200, pattern=r"^[^\x00]+$")] | None, Empty] = None
    """Feedback list: search words for questions, answers and feedback."""
    user: Annotated[Id | None, Empty] = None
    issue: Annotated[Annotated[int, Field(ge=1, lt=2**63)] | None, Empty] = None
    """Id of an issue. Feedback list: only verdicts on the issue's turns. Issue page: the issue to show."""
    conversation: Annotated[Id | None, Empty] = None
    reviewed: Annotated[UUID | None, Empty] = None
    """Transcript: id of the review that was just submitted."""
    id: Annotated[Id | None, Empty] = None
    """Transcript: id of the conversation."""
    turn: Annotated[Id | None, Empty] = None
    """Transcript: id of the turn to show."""
    feedback: Annotated[UUID | None, Empty] = None
    """Transcript: id of the feedback record that the viewer opened from the list."""
    audit: Annotated[Annotated[int, Field(ge=0, lt=2**63)] | None, Empty] = None
    """Position in the audit queue: of the turn to review (transcript), or of the turn reviewed last (accuracy page)."""
    queue: Annotated[bool, BeforeValidator(bool)] = False
    """Transcript: True if the viewer is working through a review queue."""
    last: Annotated[Id | None, Empty] = None
    """Review queue: conversation id of the turn reviewed last; `last_turn` is its turn id."""
    last_turn: Annotated[Id | None, Empty] = None
    last_mark: Annotated[
        Annotated[str, Field(pattern=r"^([0-9]{1,18}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$")] | None, Empty
    ] = None
    """Review queue: id of the feedback record reviewed last. Audit queue: the position reviewed last."""
    dimension: Annotated[DimensionName | None, Empty] = None
    """Comparison: the dimension by which verdicts are compared."""
    chosen_by: Annotated[DimensionName | None, Empty] = None
    """Comparison: the dimension for which `a` and `b` were chosen; None if that is `dimension`."""
    a: Annotated[Id | None, Empty] = None
    b: Annotated[Id | None, Empty] = None
    every: Annotated[bool, BeforeValidator(bool)] = False
    """Overview: True to list all agents, False to list only the worst ones."""
    sort: Annotated[Literal["oldest"] | None, Empty] = None
    """Feedback list: the oldest feedback first."""
    cursor: _Position = None

    @model_validator(mode="before")
    @classmethod
    def _names_attributes(cls, said: Any) -> Any:
        """Collect the URL parameters `attributes.NAME` into `attributes`."""
        if not isinstance(said, dict) or "attributes" in said:
            return said
        named = {
            name[len(ATTRIBUTES) :]: value for name, value in said.items() if name.startswith(ATTRIBUTES) and value
        }
        return {**said, "attributes": named}

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        start = parse_local(self.start, self.zone, last=False) if self.start else 0
        if self.end and parse_local(self.end, self.zone, last=True) <= start:
            raise ValueError("the range ends before it begins")
        return self

    @property
    def filters(self) -> Filters:
        return Filters(
            agent_id=self.agent,
            agent_version=self.version,
            model=self.model,
            reaction=self.reaction,
            origins=self._origins,
            feedback_type=self.type,
            tag=self.reason,
            min_confidence=self.confidence,
            user_id=self.user,
            conversation_id=self.conversation,
            given_by=self.by,
            source=self.source,
            issue=self.issue,
            judged=self.judged,
            confidence_bin=self.bin,
            bundle_id=self.bundle,
            track_id=self.track,
            intent=self.intent,
            strategy=self.strategy,
            user_type=self.user_type,
            thread=self.thread,
            attributes=self.attributes or None,
        )

    @property
    def listed(self) -> Filters:
        """Return the filters of the feedback list.

        No other list can be filtered by search words.
        """
        return self.filters.replace(words=self.q)

    @property
    def _origins(self) -> tuple[Origin, ...] | None:
        if self.origin is None:
            return None
        return _REVIEWED_MACHINE if self.origin == "machine" else (self.origin,)

    @property
    def chips(self) -> list[FilterChip]:
        """Return the filters that are set, in the order of the form."""
        chips = []
        for name, label in FILTER_LABELS.items():
            value = getattr(self, name)
            if value is not None:
                shown = f"{value:.0%}" if name == "confidence" else _VALUE_NAMES.get((name, value), str(value))
                chips.append(FilterChip(name, label, shown))
        return chips + [FilterChip(f"{ATTRIBUTES}{name}", name, value) for name, value in self.attributes.items()]

    @property
    def zone(self) -> ZoneInfo:
        return zone_of(self.tz or "UTC")

    @property
    def own_range(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def period_name(self) -> str:
        return "period" if self.own_range else PERIODS[self.period][0]

    def span(self, now: int, first: int | None) -> TimeSpan:
        """Return the time window of the view.

        Args:
            now: Current time, in microseconds.
            first: Time of the oldest feedback, in microseconds. The period "all" starts at this time. If it is None,
                the period "all" is the last 30 days.
        """
        length = PERIODS[self.period][1]
        end = now + _AHEAD if self.end is None else parse_local(self.end, self.zone, last=True)
        if self.start is not None:
            start = parse_local(self.start, self.zone, last=False)
        elif self.period == "all":
            start = end - 30 * DAY if first is None else min(first, end - 1)
        else:
            start = end - length - (_AHEAD if self.end is None else 0)
        return TimeSpan(max(0, min(start, end - 1)), end)

    def span_of_answers(self, span: TimeSpan) -> TimeSpan:
        """Return the time window in which to count answers.

        For the period "all", the window starts at the epoch, because there may be answers from before the first
        feedback. For other periods, it is `span`.
        """
        return span._replace(start=0) if self.period == "all" and self.start is None else span

    def before(self, span: TimeSpan) -> TimeSpan | None:
        """Return the time window of the same length directly before `span`.

        Returns None for the period "all", or if the window would start before the epoch.
        """
        if self.period == "all" and not self.own_range:
            return None
        length = span.end - span.start - (0 if self.own_range else _AHEAD)
        return TimeSpan(span.start - length, span.start) if span.start > length else None

    def parameters(self, at: Project, **changes: Any) -> dict[str, Any]:
        """Return this view's URL parameters for a link to any page, with `changes` applied.

        Parameters that belong to a single page are omitted, unless they are in `changes`.
        """
        said = self.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        pages = (
            "judged",
            "bin",
            "dimension",
            "chosen_by",
            "a",
            "b",
            "id",
            "issue",
            "turn",
            "feedback",
            "reviewed",
            "audit",
            "cursor",
            "sort",
            "every",
            *_IN_QUEUE,
        )
        for name in ("tenant", "project", *pages):
            said.pop(name, None)
        said |= {f"{ATTRIBUTES}{name}": value for name, value in said.pop("attributes", {}).items()}
        return {"at": f"{at.tenant}/{at.project}", **said, **changes}


def chosen(view: View, known: list[Project], last: str | None = None) -> Project | None:
    """Return the project to show, or None if there is none.

    1. If the URL has `at`, return that project, or None if it is unknown.
    2. If the URL has `tenant` and `project`, return that project, even if it is unknown.
    3. Otherwise, return the last viewed project, or the first known project if the last one is unknown. If the URL has
       only `tenant`, only projects of this tenant are considered.

    Args:
        known: Projects that the caller may choose.
        last: The last viewed project, as `tenant/project`.
    """
    if view.at is not None:
        tenant, _, project = view.at.partition("/")
        return next((one for one in known if one == (tenant, project)), None)
    if view.tenant is not None and view.project is not None:
        return Project(view.tenant, view.project)
    fitting = [one for one in known if view.tenant in (None, one.tenant)]
    viewed = (one for one in fitting if last == f"{one.tenant}/{one.project}")
    return next(viewed, fitting[0] if fitting else None)


def address(path: str, parameters: dict[str, Any]) -> str:
    """Return a URL with the given path and parameters. Empty parameters are omitted."""
    query = "&".join(
        f"{_quoted(name)}={_quoted(str(value))}" for name, value in parameters.items() if value not in (None, "")
    )
    return f"{path}?{query}" if query else path


def trace_url(template: str | None, trace_id: str | None) -> str | None:
    """Return the URL of a trace, or None if no template is set or the trace is unknown."""
    return None if template is None or not trace_id else template.replace("{trace_id}", quote(trace_id, safe=""))


def path_of(template: str, at: Project) -> str:
    """Return a route's path with the tenant and project of `at` filled in."""
    return template.format(tenant=quote(at.tenant, safe=""), project=quote(at.project, safe=""))


def _quoted(text: str) -> str:
    """Quote `text` for use in a URL's query string. Most names and values need no quoting."""
    return text if _PLAIN.fullmatch(text) else quote_plus(text)
