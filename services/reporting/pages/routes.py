"""Routes of the dashboard's pages and assets."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import Response

from contracts.scopes import ADMIN, EXPORT, OPERATE, READ, REVIEW
from reporting.access.sign_in import refused_page
from reporting.http.issues import IssueChanges
from reporting.pages.accuracy import draw_answers, show_accuracy
from reporting.pages.alerts import change_alerts, show_alerts
from reporting.pages.comparison import show_comparison
from reporting.pages.conversation import show_conversation
from reporting.pages.feedback_list import LIST, download_csv, show_list
from reporting.pages.issues import ISSUE, change_issue, show_issue, show_issues
from reporting.pages.overview import show_overview
from reporting.pages.rendering import ASSETS, ASSETS_AT
from reporting.pages.review import ACCURACY, CONVERSATION, REVIEW_PAGE, show_review
from reporting.pages.sessions import show_sessions
from reporting.pages.visits import PageSources, Show, handler_of
from servicekit.db.database import Database
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

ASSET: Final = ASSETS_AT + "/{name:segment}"
ALERTS: Final = "/dashboard/alerts"
PAGES: Final[dict[str, Show]] = {
    "/": show_overview,
    LIST: show_list,
    "/dashboard/compare": show_comparison,
    ACCURACY: show_accuracy,
    REVIEW_PAGE: show_review,
    "/dashboard/sessions": show_sessions,
    "/dashboard/issues": show_issues,
    ISSUE: show_issue,
    ALERTS: show_alerts,
    CONVERSATION: show_conversation,
}


def pages_router(sources: PageSources, writes: Database | None = None) -> Routes:
    """Return the routes of all pages and assets. They all require a token.

    Args:
        writes: Pool for the forms that change issues and draw answers. If None, they are not available.
    """
    router = Routes("pages", token=False, hidden=True, page=refused_page)
    for path, show in PAGES.items():
        router.show("GET", path, READ, handler_of(sources, show))
    router.show("GET", LIST + ".csv", EXPORT, handler_of(sources, download_csv))
    router.show("POST", ALERTS, (OPERATE, ADMIN), handler_of(sources, change_alerts))
    if writes is not None:
        change = partial(change_issue, IssueChanges(writes, sources.clock))
        router.show("POST", ISSUE, REVIEW, handler_of(sources, change))
        router.show("POST", ACCURACY, REVIEW, handler_of(sources, partial(draw_answers, writes)))
    router.at("GET", ASSET, READ, response_model=None)(asset)
    return router


async def asset(name: str) -> Response:
    if name not in ASSETS:
        raise RequestRefused(404, "No such file.")
    body, media_type = ASSETS[name]
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(body, 200, headers, media_type)
