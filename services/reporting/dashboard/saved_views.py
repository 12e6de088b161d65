"""Page with the saved views of a project, and its forms."""

from __future__ import annotations

from typing import Final

import asyncpg
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from reporting.dashboard.alerts import FormOutcome
from reporting.dashboard.queries.saved_views import MOST_VIEWS, ViewChanges
from reporting.dashboard.visits import PageRoute, Visit, Visits
from servicekit import Clock, Form, RequestRefused

VIEWS: Final = "/dashboard/views"


def saved_views_router(reads: asyncpg.Pool, clock: Clock, changes: ViewChanges) -> APIRouter:
    """Return the routes of the page with saved views.

    Every reader of a project may open and save its views.
    """
    router = APIRouter(include_in_schema=False, route_class=PageRoute)
    visits = Visits(reads, clock, None)

    def shown(visit: Visit, outcome: FormOutcome | None = None, status: int = 200) -> Response:
        response = visit.page("views.html", outcome=outcome, most_views=MOST_VIEWS)
        response.status_code = status
        return response

    async def show(visit: Visit) -> Response:
        return shown(visit)

    async def change(request: Request) -> Response:
        visit = await visits.of(request)
        if isinstance(visit, Response):
            return visit
        at, caller = visit.at, visit.caller
        try:
            form = await Form.read(request)
            if "page" in form:
                return RedirectResponse(await changes.save(at, form.field("name"), form.field("page"), caller), 303)
            if "delete" in form:
                said = f"The view {await changes.delete(at, form.field('delete'), caller)} was deleted."
            else:
                before = await changes.rename(at, form.field("rename"), form.field("name"), caller)
                said = f"The view {before} was renamed."
        except RequestRefused as refusal:
            return shown(visit, FormOutcome(str(refusal), failed=True), refusal.status)
        again = await visits.of(request)
        return again if isinstance(again, Response) else shown(again, FormOutcome(said))

    router.add_api_route(VIEWS, visits.answered(show), methods=["GET"], response_model=None)
    router.add_api_route(VIEWS, change, methods=["POST"], response_model=None)
    return router
