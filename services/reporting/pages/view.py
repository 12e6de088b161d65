"""State of a page, such as its filters, parsed from its URL. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from urllib.parse import quote, quote_plus
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from contracts.base import Id
from contracts.instants import DAY, MINUTE
from reporting.model.cursor import CURSOR_LIMIT
from reporting.model.dimensions import ATTRIBUTES, KNOWN, DimensionName
from reporting.model.selection import BINS, Filters, ListFilter, Project, TimeSpan, filters_of
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
_AHEAD: Final = 10 * MINUTE  # timestamps of feedback may be slightly ahead of this clock


def _zone(value: object) -> object:
    if value not in known_zones():
        raise ValueError("not the name of a time zone")
    return value


_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]*")
_PROJECT: Final = r"^[A-Za-z0-9._-]{1,64}/[A-Za-z0-9._-]{1,64}$"
_Day = Annotated[str, Field(pattern=r"^[12]\d{3}-\d\d-\d\d(T\d\d:\d\d)?$")]  # years that no time zone exceeds
_Row = Annotated[int, Field(ge=0, lt=2**63)]


class FilterChip(NamedTuple):
    """Filter that is set, as it is shown above a page. `name` is its URL parameter."""

    name: str
    label: str
    value: str


class FilterField(NamedTuple):
    """Filter of the pages. `choices` has the label of each value; other filters have no fixed values."""

    label: str
    choices: Mapping[str, str] = {}
    unset: str = "Any"


REACTIONS: Final = {"ok": "OK", "neutral": "Neutral", "not_ok": "Not OK"}
_ORIGINS: Final = {"user": "People", "machine": "Machine", "reviewer": "Reviewers"}
_CRITICS: Final = {"person": "People only", "agent": "AI critics only"}
_SOURCES: Final = {
    "chat": "Chats",
    "post": "Posts and comments",
    "api": "Judgements",
    "inference": "Inferred",
    "review": "Reviews",
}
_TYPES: Final = {
    "verdict": "Verdicts only",
    "explicit": "Explicit",
    "reaction": "Emoji",
    "inferred": "Inferred",
    "implicit": "Replies",
}
FILTERS: Final[Mapping[str, FilterField]] = {
    "agent_id": FilterField("Agent"),
    "agent_version": FilterField("Version"),
    "model": FilterField("Model"),
    "reaction": FilterField("Verdict", REACTIONS),
    "origin": FilterField("Given by", _ORIGINS, "Anyone"),
    "given_by": FilterField("Critics", _CRITICS, "People and AI critics"),
    "source": FilterField("Source", _SOURCES),
    "feedback_type": FilterField("Type", _TYPES),
    "words": FilterField("Words"),
    "tag": FilterField("Reason"),
    "min_confidence": FilterField("Confidence at least"),
    "user_id": FilterField("Person"),
    "conversation_id": FilterField("Conversation"),
    "thread": FilterField("Thread"),
    **{by.filter: FilterField(by.label) for by in KNOWN.values() if not by.is_rolled},
    "detector": FilterField("Detector"),
    "decided_by": FilterField("Decided by"),
    "judged": FilterField("A person's verdict on the turn", REACTIONS),
    "confidence_bin": FilterField("Confidence"),
}
"""Filters that are shown above a page, by their URL parameter. Attributes of answers follow them."""


class View(ListFilter):
    """State of a page, encoded in its URL: the filters of the API, the period, and the place in the page.

    Empty form fields count as missing, and unknown parameters are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    named_project: Annotated[str, Field(pattern=_PROJECT)] | None = Field(default=None, alias="at")
    """The selected project as `tenant/project`."""
    period: Period = "7d"
    start: _Day | None = Field(default=None, alias="from")
    """First day or minute of a custom range, in the time zone `tz`. A custom range takes precedence over `period`."""
    end: _Day | None = Field(default=None, alias="to")
    """Last day or minute of a custom range, inclusive."""
    tz: Annotated[str, BeforeValidator(_zone)] | None = None
    state: Literal["all", "open", "resolved", "muted", "regressed"] | None = None
    """Issue list: only issues in this state. None selects open and regressed issues."""
    reviewed: UUID | None = None
    """Transcript: id of the review that was just submitted."""
    retracted: UUID | None = None
    """Transcript: id of the review that was just retracted."""
    id: Id | None = None
    """Transcript: id of the conversation."""
    turn: Id | None = None
    """Transcript: id of the turn to show."""
    feedback: UUID | None = None
    """Transcript: id of the feedback record that the viewer opened from the list."""
    audit: _Row | None = None
    """Position in the audit queue: of the turn to review (transcript), or of the turn reviewed last (accuracy page)."""
    queue: Annotated[bool, BeforeValidator(bool)] = False
    """Transcript: True if the viewer is working through a review queue."""
    after: UUID | _Row | None = None
    """Review queue: id of the feedback record reviewed last. Audit queue: the position reviewed last."""
    dimension: DimensionName | None = None
    """Comparison: the dimension by which verdicts are compared."""
    a: Id | None = None
    b: Id | None = None
    cursor: Annotated[str, Field(max_length=CURSOR_LIMIT)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_fields(cls, parameters: Any) -> Any:
        return {name: value for name, value in parameters.items() if value != ""}

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        start = parse_local(self.start, self.zone, last=False) if self.start else 0
        if self.end and parse_local(self.end, self.zone, last=True) <= start:
            raise ValueError("the range ends before it begins")
        return self

    @property
    def filters(self) -> Filters:
        """The filters, except search words: only the feedback list is searched."""
        return self.listed.replace(words=None)

    @property
    def listed(self) -> Filters:
        """The filters of the feedback list."""
        return filters_of(self)

    @property
    def chips(self) -> list[FilterChip]:
        """The filters that are set, in the order of the form."""
        chips = []
        for name, field in FILTERS.items():
            value = getattr(self, name)
            if value is not None:
                chips.append(FilterChip(name, field.label, _value_in_words(name, value)))
        attributes = self.attributes or {}
        return chips + [FilterChip(f"{ATTRIBUTES}{name}", name, value) for name, value in attributes.items()]

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

    def parameters(self, project: Project) -> dict[str, Any]:
        """Return the URL parameters of a link to any page: the project, the period and the filters."""
        period = self.model_dump(by_alias=True, exclude_defaults=True, include=_SHARED)
        # `issue` also selects the page of an issue.
        filters = {name: value for name, value in self.filter_parameters.items() if name != "issue"}
        return {"at": f"{project.tenant}/{project.project}", **period, **filters}

    @property
    def filter_parameters(self) -> dict[str, Any]:
        """The filters as URL parameters of a page or of the API."""
        filters = self.model_dump(exclude_none=True, mode="json", include=_FILTERS)
        return filters | {f"{ATTRIBUTES}{name}": value for name, value in (self.attributes or {}).items()}


_SHARED: Final = {"period", "start", "end", "tz", "state"}
"""Fields besides the filters that every link keeps."""
_FILTERS: Final = set(ListFilter.model_fields) - {"attributes"}


def _value_in_words(name: str, value: object) -> str:
    if name == "min_confidence":
        return f"{value:.0%}"
    if name == "confidence_bin":
        assert isinstance(value, int)
        return f"{value / BINS:.0%} to {(value + 1) / BINS:.0%}"
    return FILTERS[name].choices.get(str(value), str(value))


def chosen(view: View, projects: Sequence[Project], last: str | None = None) -> Project | None:
    """Return the project in the URL, even if it is not in `projects`.

    Without one, return the last viewed project, or the first of `projects` if the last one is not among them.

    Args:
        projects: Projects that the caller may choose.
        last: The last viewed project, as `tenant/project`.
    """
    if view.named_project is not None:
        return Project(*view.named_project.split("/"))
    viewed = (project for project in projects if last == f"{project.tenant}/{project.project}")
    return next(viewed, projects[0] if projects else None)


def address(path: str, parameters: dict[str, Any]) -> str:
    """Return a URL with the given path and parameters. Empty parameters are omitted."""
    query = "&".join(
        f"{_quoted(name)}={_quoted(str(value))}" for name, value in parameters.items() if value not in (None, "")
    )
    return f"{path}?{query}" if query else path


def trace_url(template: str | None, trace_id: str | None) -> str | None:
    """Return the URL of a trace, or None if no template is set or the trace is unknown."""
    return None if template is None or not trace_id else template.replace("{trace_id}", quote(trace_id, safe=""))


def path_of(template: str, project: Project) -> str:
    """Return a route's path with the tenant and project of `project` filled in."""
    return template.format(tenant=quote(project.tenant, safe=""), project=quote(project.project, safe=""))


def _quoted(text: str) -> str:
    """Quote `text` for use in a URL's query string. Most names and values need no quoting."""
    return text if _PLAIN.fullmatch(text) else quote_plus(text)
