"""Routes of the dashboard's pages and assets."""

from __future__ import annotations

from functools import partial
from typing import Final

import asyncpg
from fastapi import Response

from contracts.scopes import ADMIN, EXPORT, OPERATE, READ, REVIEW
from reporting.access.log import AccessLog
from reporting.access.sign_in import refused_page
from reporting.alerts.administration import AlertAdministration
from reporting.http.issues import IssueChanges
from reporting.pages.accuracy import draw_answers, show_accuracy
from reporting.pages.agent import show_agent
from reporting.pages.alerts import change_alerts, show_alerts
from reporting.pages.comparison import show_comparison
from reporting.pages.conversation import show_conversation
from reporting.pages.exports import LIST
from reporting.pages.feedback_list import download_csv, download_jsonl, show_list
from reporting.pages.issues import ISSUE, change_issue, show_issue, show_issues
from reporting.pages.overview import show_overview
from reporting.pages.rendering import ASSETS, ASSETS_AT, error_page
from reporting.pages.review import show_review
from reporting.pages.review_queue import ACCURACY, CONVERSATION, REVIEW_PAGE
from reporting.pages.sessions import show_sessions
from reporting.pages.visits import PageSources, Show, Visits, answering_filters
from servicekit.clock import Clock
from servicekit.db.database import Database
from servicekit.web.routes import Routes

ASSET: Final = ASSETS_AT + "/{name:segment}"
ALERTS: Final = "/dashboard/alerts"
PAGES: Final[dict[str, Show]] = {
    "/": show_overview,
    LIST: show_list,
    "/dashboard/agent": show_agent,
    "/dashboard/compare": show_comparison,
    ACCURACY: show_accuracy,
    REVIEW_PAGE: show_review,
    "/dashboard/sessions": show_sessions,
    "/dashboard/issues": show_issues,
    ISSUE: show_issue,
    ALERTS: show_alerts,
}


def pages_router(
    pool: asyncpg.Pool,
    clock: Clock,
    trace_url_template: str | None = None,
    alert_administration: AlertAdministration | None = None,
    access_log: AccessLog | None = None,
    current: asyncpg.Pool | None = None,
    writes: Database | None = None,
) -> Routes:
    """Return the routes of all pages and assets. They all require a token.

    Args:
        alert_administration: Administration of alert rules and channels. If None, the alerts page is not available.
        access_log: Log that records the access to conversations and exports.
        current: Pool for pages that must show the viewer's own changes immediately, by default `pool`.
        writes: Pool for the forms that change issues and draw answers. If None, they are not available.
    """
    sources = PageSources(pool, current or pool, clock, trace_url_template, alert_administration, access_log)
    visits = Visits(sources)
    router = Routes("pages", token=False, hidden=True, page=refused_page)
    for path, show in PAGES.items():
        router.show("GET", path, READ, answering_filters(visits.answered(show)))
    router.show("GET", CONVERSATION, READ, answering_filters(partial(show_conversation, sources)))
    router.show("GET", LIST + ".csv", EXPORT, answering_filters(visits.answered(download_csv)))
    router.show("GET", LIST + ".jsonl", EXPORT, answering_filters(visits.answered(download_jsonl)))
    if writes is not None:
        submit_issue = visits.submitted(partial(change_issue, IssueChanges(writes, clock)))
        submit_draw = visits.submitted(partial(draw_answers, writes, clock))
        router.show("POST", ISSUE, REVIEW, answering_filters(submit_issue))
        router.show("POST", ACCURACY, REVIEW, answering_filters(submit_draw))
    router.show("POST", ALERTS, (OPERATE, ADMIN), answering_filters(partial(change_alerts, sources, visits)))

    @router.at("GET", ASSET, READ, response_model=None)
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return error_page(404, "There is nothing here", "No such file.")
        body, media_type = ASSETS[name]
        headers = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(body, 200, headers, media_type)

    return router
