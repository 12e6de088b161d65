"""Context of page requests: the caller, project, period and filters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import asyncpg
from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from contracts.scopes import ADMIN, EXPORT
from reporting.access.log import AccessAction, AccessLog
from reporting.alerts.administration import AlertAdministration
from reporting.figures.dimension_votes import filter_choices
from reporting.model.cursor import BadCursor
from reporting.model.selection import Project, TimeSpan
from reporting.pages.forms import Form
from reporting.pages.rendering import error_page, page
from reporting.pages.view import View, address, chosen
from reporting.pages.zones import known_zones
from reporting.read_models.projects import agent_ids, first_reaction, is_known, projects
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import RequestRefused, error_summary
from servicekit.web.auth import Caller

ZONE_COOKIE: Final = "agent_feedback_zone"
PROJECT_COOKIE: Final = "agent_feedback_project"
"""Cookie with the last viewed project (`tenant/project`), which is shown if the URL has no project."""
_COOKIE_SECONDS: Final = 365 * 24 * 3600
NO_PROJECT: Final = ("There is nothing here", "The project does not exist, or this token is not valid for it.")
"""Heading and text of the error page for a project that does not exist or that the caller may not see."""


class BadView(RequestRefused):
    """Error for a URL with an invalid filter."""

    def __init__(self) -> None:
        super().__init__(400, "One of its filters is not valid.")


PageHandler = Callable[[Request], Awaitable[Response]]


def answering_filters(handler: PageHandler) -> PageHandler:
    """Return the handler of a page that answers invalid filters with an error page."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except (BadView, BadCursor):
            return error_page(400, "This address does not work", "One of its filters is not valid.")

    return answer


LONG_PERIOD: Final = "all"
"""Default period of pages that compare versions, so that they cover the whole life of each version."""


class Navigation(NamedTuple):
    """State of the tabs: the number of open alerts, and whether the tenant has session ratings."""

    open_alerts: int
    has_sessions: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """Context of a page request: caller, view, project, projects that the caller may choose, state of the tabs."""

    caller: Caller
    view: View
    at: Project
    known: list[Project]
    navigation: Navigation
    of_tabs: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the URL parameters in the links to other pages."""
    parameters: Mapping[str, Any] = field(init=False)
    """URL parameters of the page's filters, computed once because a page has about a hundred links with them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", self.view.parameters(self.at))

    def link(self, path: str, /, **changes: Any) -> str:
        """Return the URL of a page with this page's filters and the given `changes`."""
        return address(path, {**self.parameters, **changes})

    def over_versions(self) -> Visit:
        """Return the visit with LONG_PERIOD, unless the viewer has chosen a period."""
        if self.view.own_range or "period" in self.view.model_fields_set:
            return self
        return replace(self, view=self.view.model_copy(update={"period": LONG_PERIOD}), of_tabs={"period": None})

    def page(self, template: str, **values: Any) -> Response:
        return page(
            template,
            view=self.view,
            at=self.at,
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
        BadView: If a filter is invalid.
    """
    parameters = dict(request.query_params)
    zone = request.cookies.get(ZONE_COOKIE, "")
    if not parameters.get("tz") and zone in known_zones():
        parameters["tz"] = zone
    try:
        return View.model_validate(parameters)
    except ValidationError:
        raise BadView from None


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
        first = await first_reaction(self.current, visit.at) if visit.view.period == "all" else None
        return visit.view.span(self.clock.now(), first)

    async def controls(self, visit: Visit, span: TimeSpan) -> dict[str, Any]:
        """Return the values that the row of controls needs: the time window, and the choices for the filters."""
        agent_names, choices = await asyncio.gather(
            agent_ids(self.reports, visit.at), filter_choices(self.reports, visit.at, span, visit.view.agent_id)
        )
        return {"span": span, "agent_names": agent_names, "choices": choices}

    async def visit(self, caller: Caller, view: View, project: Project, known: list[Project]) -> Visit:
        """Return the context of a page about `project`."""
        [row] = await self.current.fetch(*SQL.navigation(**project._asdict()))
        return Visit(caller, view, project, known, Navigation(**row))

    async def note(self, visit: Visit, action: AccessAction, about: str) -> None:
        """Record an access in the access log."""
        if self.access_log is not None:
            await self.access_log.note(visit.caller.subject, *visit.at, action, about)


Show = Callable[[PageSources, Visit], Awaitable[Response]]
"""Function that renders a page."""
Submit = Callable[[Visit, Form], Awaitable[str]]
"""Function that carries out a submitted form and returns the URL of the page to show afterwards."""


class Visits:
    """Factory of page contexts."""

    def __init__(self, sources: PageSources) -> None:
        self._sources = sources

    async def of(self, request: Request) -> Visit | Response:
        """Return the context of a page request, or the page to show instead.

        This is an error page if the project does not exist or the caller may not access it, and the empty page if there
        are no projects.
        """
        caller: Caller = request.state.caller
        view = view_of(request)
        known = await projects(self._sources.current, caller.tenant, caller.projects)
        at = chosen(view, known, request.cookies.get(PROJECT_COOKIE))
        if at is None and view.at is None and view.tenant is None:
            return page("empty.html", base=str(request.base_url).rstrip("/"))
        if at is None or not caller.may_touch(*at) or not (at in known or await is_known(self._sources.current, at)):
            return error_page(404, *NO_PROJECT)
        return await self._sources.visit(caller, view, at, known)

    def answered(self, show: Show) -> Callable[[Request], Awaitable[Response]]:
        """Return a request handler that renders a page with `show`.

        The handler remembers the project in a cookie.
        """

        async def answered(request: Request) -> Response:
            visit = await self.of(request)
            if isinstance(visit, Response):
                return visit
            response, named = await show(self._sources, visit), f"{visit.at.tenant}/{visit.at.project}"
            if request.cookies.get(PROJECT_COOKIE) != named:
                response.set_cookie(
                    PROJECT_COOKIE, named, max_age=_COOKIE_SECONDS, httponly=True, samesite="strict",
                    secure=request.url.scheme == "https",
                )  # fmt: skip
            return response

        return answered

    def submitted(self, submit: Submit) -> PageHandler:
        """Return a request handler that carries out a form with `submit` and redirects to the page that it returns.

        The handler raises RequestRefused with status 422 for an invalid form.
        """

        async def submitted(request: Request) -> Response:
            visit = await self.of(request)
            if isinstance(visit, Response):
                return visit
            try:
                return RedirectResponse(await submit(visit, await Form.read(request)), 303)
            except ValidationError as error:
                faults = error.errors(include_url=False, include_context=False, include_input=False)
                raise RequestRefused(422, error_summary(faults)) from None

        return submitted
