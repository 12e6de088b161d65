"""Context of page requests: the caller, project, period and filters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg
from fastapi import Request, Response
from pydantic import ValidationError

from contracts.scopes import EXPORT
from reporting.model.cursor import BadCursor
from reporting.model.selection import Project, TimeSpan
from reporting.pages.rendering import error_page, page
from reporting.pages.view import View, address, chosen
from reporting.pages.zones import known_zones
from reporting.read_models.projects import first_reaction, is_known, projects
from servicekit import Caller, Clock, GuardedRoute, RequestRefused

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


class PageRoute(GuardedRoute):
    """Route that answers invalid filters with an error page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except (BadView, BadCursor):
                return error_page(400, "This address does not work", "One of its filters is not valid.")

        return guarded


@dataclass(frozen=True, slots=True)
class Visit:
    """Context of a page request: caller, view, project, and the projects that the caller may choose."""

    caller: Caller
    view: View
    at: Project
    known: list[Project]
    parameters: Mapping[str, Any] = field(init=False)
    """URL parameters of the page's filters, computed once because a page has about a hundred links with them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", self.view.parameters(self.at))

    def link(self, path: str, /, **changes: Any) -> str:
        """Return the URL of a page with this page's filters and the given `changes`."""
        return address(path, {**self.parameters, **changes})

    def page(self, template: str, **values: Any) -> Response:
        return page(
            template,
            view=self.view,
            at=self.at,
            known=self.known,
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
    said = dict(request.query_params)
    zone = request.cookies.get(ZONE_COOKIE, "")
    if not said.get("tz") and zone in known_zones():
        said["tz"] = zone
    try:
        return View.model_validate(said)
    except ValidationError:
        raise BadView from None


class Visits:
    """Factory of page contexts."""

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    async def of(self, request: Request) -> Visit | Response:
        """Return the context of a page request, or the page to show instead.

        This is an error page if the project does not exist or the caller may not access it, and the empty page if there
        are no projects.
        """
        caller: Caller = request.state.caller
        view = view_of(request)
        known = await projects(self._pool, caller.tenant, caller.projects)
        at = chosen(view, known, request.cookies.get(PROJECT_COOKIE))
        if at is None and view.at is None and view.tenant is None:
            return page("empty.html", base=str(request.base_url).rstrip("/"))
        if at is None or not caller.may_touch(*at) or not (at in known or await is_known(self._pool, at)):
            return error_page(404, *NO_PROJECT)
        return Visit(caller, view, at, known)

    def answered(self, show: Callable[[Visit], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return a request handler that renders a page with `show`.

        The handler remembers the project in a cookie.
        """

        async def answered(request: Request) -> Response:
            visit = await self.of(request)
            if isinstance(visit, Response):
                return visit
            response, named = await show(visit), f"{visit.at.tenant}/{visit.at.project}"
            if request.cookies.get(PROJECT_COOKIE) != named:
                response.set_cookie(
                    PROJECT_COOKIE, named, max_age=_COOKIE_SECONDS, httponly=True, samesite="strict",
                    secure=request.url.scheme == "https",
                )  # fmt: skip
            return response

        return answered

    async def span(self, visit: Visit) -> TimeSpan:
        """Return the time window of the page."""
        first = await first_reaction(self._pool, visit.at) if visit.view.period == "all" else None
        return visit.view.span(self._clock.now(), first)
