"""Context of page requests: the caller, project, period and filters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import asyncpg
from fastapi import Request, Response
from pydantic import ValidationError

from contracts.scopes import ADMIN, EXPORT
from reporting.access.log import AccessAction, AccessLog
from reporting.alerts.administration import AlertAdministration
from reporting.figures.dimension_votes import filter_choices
from reporting.model.selection import Project, TimeSpan
from reporting.pages.rendering import page
from reporting.pages.view import View, address, chosen
from reporting.pages.zones import known_zones
from reporting.read_models.projects import agent_ids, first_reaction, is_known, projects
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from servicekit.web.routes import PageHandler

ZONE_COOKIE: Final = "agent_feedback_zone"
PROJECT_COOKIE: Final = "agent_feedback_project"
"""Cookie with the last viewed project (`tenant/project`), which is shown if the URL has no project."""
_COOKIE_SECONDS: Final = 365 * 24 * 3600


LONG_PERIOD: Final = "all"
"""Default period of pages that compare versions, so that they cover the whole life of each version."""


class Navigation(NamedTuple):
    """State of the tabs: the number of open alerts, and whether the tenant has session ratings."""

    open_alerts: int
    has_sessions: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """Context of a page request: its view, project, projects that the caller may choose, state of the tabs."""

    request: Request
    view: View
    project: Project
    known: list[Project]
    navigation: Navigation
    of_tabs: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the URL parameters in the links to other pages."""
    parameters: Mapping[str, Any] = field(init=False)
    """URL parameters of the page's filters, computed once because a page has about a hundred links with them."""

    @property
    def caller(self) -> Caller:
        caller: Caller = self.request.state.caller
        return caller

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", self.view.parameters(self.project))

    def link(self, path: str, /, **changes: Any) -> str:
        """Return the URL of a page with this page's filters and the given `changes`."""
        return address(path, {**self.parameters, **changes})

    def with_long_period(self) -> Visit:
        """Return the visit with LONG_PERIOD, unless the viewer has chosen a period."""
        if self.view.own_range or "period" in self.view.model_fields_set:
            return self
        return replace(self, view=self.view.model_copy(update={"period": LONG_PERIOD}), of_tabs={"period": None})

    def page(self, template: str, **values: Any) -> Response:
        return page(
            template,
            view=self.view,
            project=self.project,
            known=self.known,
            navigation=self.navigation,
            of_tabs=self.of_tabs,
            operates=ADMIN in self.caller.scopes,
            link=self.link,
            zone=self.view.zone,
            may_export=EXPORT in self.caller.scopes,
            caller=self.caller,
            **values,
        )


def view_of(request: Request) -> View:
    """Parse the view from the URL of a request.

    If the URL has no time zone, the zone in the viewer's cookie is used.

    Raises:
        RequestRefused: If a filter is invalid.
    """
    parameters = dict(request.query_params)
    zone = request.cookies.get(ZONE_COOKIE, "")
    if not parameters.get("tz") and zone in known_zones():
        parameters["tz"] = zone
    try:
        return View.model_validate(parameters)
    except ValidationError:
        raise RequestRefused(400, "One of its filters is not valid.") from None


@dataclass(frozen=True, slots=True)
class PageSources:
    """Sources of the data of all pages.

    Attributes:
        reports: Connection pool for reports.
        current: Connection pool for pages that must show the viewer's own changes immediately.
        trace_url_template: URL of a trace, containing `{trace_id}`.
        alerts: Administration of alert rules and channels. If None, the alerts page is not available.
        access_log: Log that records the access to conversations and exports.
    """

    reports: asyncpg.Pool
    current: asyncpg.Pool
    clock: Clock
    trace_url_template: str | None = None
    alerts: AlertAdministration | None = None
    access_log: AccessLog | None = None

    async def span(self, visit: Visit) -> TimeSpan:
        """Return the time window of the page."""
        first = await first_reaction(self.current, visit.project) if visit.view.period == "all" else None
        return visit.view.span(self.clock.now(), first)

    async def controls(self, visit: Visit, span: TimeSpan) -> dict[str, Any]:
        """Return the values that the row of controls needs: the time window, and the choices for the filters."""
        agent_names, choices = await asyncio.gather(
            agent_ids(self.reports, visit.project),
            filter_choices(self.reports, visit.project, span, visit.view.agent_id),
        )
        return {"span": span, "agent_names": agent_names, "choices": choices}

    async def note(self, visit: Visit, action: AccessAction, about: str) -> None:
        """Record an access in the access log."""
        if self.access_log is not None:
            await self.access_log.note(visit.caller.subject, *visit.project, action, about)


Show = Callable[[PageSources, Visit], Awaitable[Response]]
"""Function that renders a page or processes a submitted form."""


async def visit_of(sources: PageSources, request: Request) -> Visit | None:
    """Return the context of a page request, or None if there are no projects.

    Raises:
        RequestRefused: If a filter is invalid, or the project does not exist or the caller may not access it.
    """
    caller: Caller = request.state.caller
    view = view_of(request)
    known = await projects(sources.current, caller.tenant, caller.projects)
    project = chosen(view, known, request.cookies.get(PROJECT_COOKIE))
    if project is None:
        return None
    if not caller.may_touch(*project) or not (project in known or await is_known(sources.current, project)):
        raise RequestRefused(404, "The project does not exist, or this token is not valid for it.")
    [row] = await sources.current.fetch(*SQL.navigation(**project._asdict()))
    return Visit(request, view, project, known, Navigation(**row))


def handler_of(sources: PageSources, show: Show) -> PageHandler:
    """Return a request handler that calls `show`. Without projects, it explains how to send a first event."""

    async def handle(request: Request) -> Response:
        visit = await visit_of(sources, request)
        if visit is None:
            return page("empty.html", base=str(request.base_url).rstrip("/"))
        return with_project(request, await show(sources, visit), visit.project)

    return handle


def with_project(request: Request, response: Response, project: Project) -> Response:
    """Add the cookie that remembers the project to the response, unless the request has it."""
    name = f"{project.tenant}/{project.project}"
    if request.cookies.get(PROJECT_COOKIE) != name:
        response.set_cookie(
            PROJECT_COOKIE, name, max_age=_COOKIE_SECONDS, httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
    return response
