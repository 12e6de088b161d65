"""What a page's address asks for. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict

from contracts.base import Id, Origin, Scope
from contracts.instants import DAY, MINUTE
from reporting.scope import SHIFTS, WIDTHS, Bucket, Filters, Project, Span

Period = Literal["24h", "7d", "30d", "90d", "all"]
PERIODS: Final[dict[Period, tuple[str, int]]] = {
    "24h": ("24 hours", DAY),
    "7d": ("7 days", 7 * DAY),
    "30d": ("30 days", 30 * DAY),
    "90d": ("90 days", 90 * DAY),
    "all": ("All time", 0),
}
ORIGINS: Final[dict[Origin, str]] = {"user": "People", "machine": "Machine"}
_AHEAD: Final = 10 * MINUTE  # feedback may be a little ahead of this clock and should still be seen


def _given(value: object) -> object:
    return value or None


class View(BaseModel):
    """The filters of the overview; a form's empty fields count as not given."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: Annotated[str | None, BeforeValidator(_given)] = None
    """`tenant/project`."""
    tenant: Annotated[Scope | None, BeforeValidator(_given)] = None
    project: Annotated[Scope | None, BeforeValidator(_given)] = None
    period: Period = "30d"
    origin: Annotated[Origin | None, BeforeValidator(_given)] = None
    agent: Annotated[Id | None, BeforeValidator(_given)] = None

    @property
    def filters(self) -> Filters:
        return Filters(agent_id=self.agent, origin=self.origin)


class TranscriptView(BaseModel):
    """Which conversation to read, and the turn to show first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Scope
    project: Scope
    id: Id
    turn: Id | None = None


def chosen(view: View, known: list[Project]) -> Project | None:
    """The project to show: the one asked for, even if nothing is known of it, else the first known."""
    if view.at is not None:
        tenant, _, project = view.at.partition("/")
        return next((one for one in known if one == (tenant, project)), None)
    if view.tenant is not None and view.project is not None:
        return Project(view.tenant, view.project)
    return next((one for one in known if view.tenant in (None, one.tenant)), None)


def span_of(period: Period, now: int, first: int | None) -> Span:
    """The period up to now; all time begins with the `first` reaction, or 30 days ago where there is none."""
    start = now - PERIODS[period][1]
    if period == "all":
        start = now - 30 * DAY if first is None else min(first, now)
    return Span(max(0, start), now + _AHEAD)


def bucket_of(span: Span) -> Bucket:
    """A width that gives a chart some ten to a hundred steps."""
    days = (span.end - span.start) / DAY
    return "hour" if days <= 2 else "day" if days <= 100 else "week"


def starts(span: Span, bucket: Bucket) -> list[int]:
    """The starts of all buckets that the span touches, the newest 800 of them."""
    width, shift = WIDTHS[bucket], SHIFTS[bucket]
    first = (span.start - shift) // width * width + shift
    return list(range(first, span.end - _AHEAD + 1, width))[-800:]


def address(path: str, **parameters: Any) -> str:
    """`path` with those of `parameters` that say something."""
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{path}?{query}" if query else path
