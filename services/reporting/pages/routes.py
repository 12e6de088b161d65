"""Routes of the dashboard, with one function per page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import asyncpg
from fastapi import Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from contracts.scopes import ADMIN, EXPORT, OPERATE, READ, REVIEW
from reporting.access.log import AccessAction, AccessLog
from reporting.access.sign_in import refused_page
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.rules import MOST_CHANNELS_OF_RULE
from reporting.feedback.found_counts import FoundPage, found_and_counted
from reporting.feedback.search import every, scanned_by, with_answers
from reporting.figures.calibration import NEWEST_VERDICTS, calibration
from reporting.figures.dimension_votes import MOST_VALUES, filter_choices
from reporting.figures.sessions import RatingsOfLength, session_ratings
from reporting.http.conversations import PROJECT
from reporting.http.issues import PAGE as ISSUE
from reporting.http.reviews import DRAWS, figures
from reporting.http.reviews import PAGE as AUDIT
from reporting.model.cursor import BadCursor
from reporting.model.selection import ALWAYS, TimeSpan
from reporting.pages import exports, reading
from reporting.pages.alerts import CHANNEL_NAMES, FormOutcome, carry_out, rules_shown
from reporting.pages.comparison import comparison_page
from reporting.pages.issues import causes, issue_values, issues_values, unsolved
from reporting.pages.overview import live, overview
from reporting.pages.rendering import ASSETS, ASSETS_AT, PRIVATE, error_page
from reporting.pages.review import (
    CONVERSATION,
    MOST_LEFT,
    REVIEW_PAGE,
    audit_at,
    left,
    next_in_audit,
    next_in_queue,
    queue_at,
    undo_of,
)
from reporting.pages.view import chosen
from reporting.pages.visits import NO_PROJECT, PageRoute, Visit, Visits, view_of
from reporting.read_models.projects import agent_ids, projects
from reporting.reviews.sample import MOST_ANSWERS
from servicekit import Caller, Clock, Routes

FRONT, LIVE, ASSET = "/", "/dashboard/live", ASSETS_AT + "/{name:segment}"
LIST, AGENT, CALIBRATION = "/dashboard/feedback", "/dashboard/agent", "/dashboard/calibration"
SESSIONS: Final = "/dashboard/sessions"
ALERTS: Final = "/dashboard/alerts"
ISSUES: Final = "/dashboard/issues"
COMPARE: Final = "/dashboard/compare"
CSV, JSONL = LIST + ".csv", LIST + ".jsonl"
_PAGE: Final = 50


def pages_router(
    pool: asyncpg.Pool,
    clock: Clock,
    trace_url_template: str | None = None,
    alert_administration: AlertAdministration | None = None,
    access_log: AccessLog | None = None,
    current: asyncpg.Pool | None = None,
) -> Routes:
    """Return the routes of all pages and assets. They all require a token.

    Args:
        alert_administration: Administration of alert rules and channels. If None, the alerts page is not available.
        access_log: Log that records the access to conversations and exports.
        current: Pool for pages that must show the viewer's own changes immediately, by default `pool`.
    """
    current = current or pool
    router = Routes("pages", token=False, hidden=True, page=refused_page, route_class=PageRoute)
    visits = Visits(current, clock)

    async def note(visit: Visit, action: AccessAction, about: str) -> None:
        if access_log is not None:
            await access_log.note(visit.caller.subject, *visit.at, action, about)

    async def show_overview(visit: Visit) -> Response:
        now, agent = clock.now(), visit.view.agent
        span = await visits.span(visit)
        figures, choices, agent_names, why = await asyncio.gather(
            overview(pool, visit.at, visit.view, now, visit.link),
            filter_choices(pool, visit.at, span, agent),
            agent_ids(pool, visit.at),
            causes(pool, visit.at, span, visit.view.filters, now, agent),
        )
        return visit.page(
            "overview.html",
            o=figures,
            live=figures.live,
            choices=choices,
            agent_names=agent_names,
            issues=why.issues,
            reasons=why.reasons,
        )

    async def show_live(visit: Visit) -> Response:
        now = await live(pool, visit.at, visit.view, clock.now())
        return visit.page("live.html", live=now)

    async def show_list(visit: Visit) -> Response:
        reviewer = REVIEW in visit.caller.scopes
        source = current if reviewer else pool  # reviewers must see their own review at once
        span, after = _continued(visit.view.cursor) or (await visits.span(visit), None)
        oldest_first = visit.view.sort == "oldest"

        async def listed() -> tuple[list[dict[str, Any]], FoundPage]:
            one = await found_and_counted(
                source, visit.at, span, visit.view.listed, _PAGE, after, oldest_first=oldest_first
            )
            return await with_answers(source, visit.at, one.rows), one

        (rows, one), agent_names, choices = await asyncio.gather(
            listed(), agent_ids(source, visit.at), filter_choices(source, visit.at, span, visit.view.agent)
        )
        return visit.page(
            "list.html",
            found=rows,
            next=None if one.cursor is None else f"{span.start}-{span.end}-{one.cursor}",
            agent_names=agent_names,
            choices=choices,
            total=one.total,
            looked_through=scanned_by(visit.view.listed),
            span=span,
            path=reading.path_of(PROJECT, visit.at),
            reviewer=reviewer,
            may_erase=ADMIN in visit.caller.scopes and visit.caller.may_touch(visit.at.tenant, None),
            oldest_first=oldest_first,
        )

    async def show_agent(visit: Visit) -> Response:
        if visit.view.agent is None:
            return error_page(404, "No agent selected", "Choose an agent on the overview.")
        span = await visits.span(visit)
        figures, issues, choices = await asyncio.gather(
            reading.agent(pool, visit.at, visit.view, span, visit.link),
            unsolved(pool, visit.at, clock.now(), visit.view.agent),
            filter_choices(pool, visit.at, span, visit.view.agent),
        )
        return visit.page("agent.html", a=figures, span=span, issues=issues, choices=choices)

    async def show_comparison(visit: Visit) -> Response:
        span = await visits.span(visit)
        found, agent_names = await asyncio.gather(
            comparison_page(pool, visit.at, span, visit.view), agent_ids(pool, visit.at)
        )
        return visit.page(
            "compare.html",
            c=found,
            cases=found.cases,
            most_values=MOST_VALUES,
            agent_names=agent_names,
            span=span,
        )

    async def show_calibration(visit: Visit) -> Response:
        span = await visits.span(visit)
        filters = visit.view.filters.replace(origins=None)
        figures = await calibration(pool, visit.at, span, filters)
        return visit.page(
            "calibration.html",
            c=figures,
            newest_verdicts=NEWEST_VERDICTS,
            agent_names=await agent_ids(pool, visit.at),
            span=span,
        )

    async def show_audit(visit: Visit) -> Response:
        reviewer = REVIEW in visit.caller.scopes

        async def following() -> str | None:
            return await next_in_audit(current, visit.at, visit.view, visit.link) if reviewer else None

        if visit.view.audit is not None and (url := await following()) is not None:
            return RedirectResponse(url, 303)
        span = visit.view.span(clock.now(), 0)  # 0: answers may be older than the first reaction
        url, found = await asyncio.gather(following(), figures(current, visit.at, span))
        return visit.page(
            "audit.html",
            a=found,
            most_answers=MOST_ANSWERS,
            span=span,
            reviewer=reviewer,
            next=url,
            draws_path=reading.path_of(DRAWS, visit.at),
        )

    async def show_review(visit: Visit) -> Response:
        reviewer, view, span = REVIEW in visit.caller.scopes, visit.view, await visits.span(visit)
        following = await next_in_queue(current, visit.at, span, view, visit.link) if reviewer else None
        if following is not None and view.last_mark is not None:
            return RedirectResponse(following, 303)
        return visit.page(
            "review.html",
            span=span,
            reviewer=reviewer,
            next=following,
            left=await left(current, visit.at, span, view),
            most_left=MOST_LEFT,
            undo=undo_of(visit.at, view, visit.link, queue=1, issue=view.issue, feedback=view.last_mark),
            drawn=await next_in_audit(current, visit.at, view.model_copy(update={"audit": None}), visit.link)
            if reviewer
            else None,
            issues=await unsolved(current, visit.at, clock.now(), view.agent),
            agent_names=await agent_ids(current, visit.at),
        )

    async def show_issues(visit: Visit) -> Response:
        return visit.page("issues.html", **await issues_values(current, visit.at, visit.view, clock.now(), visit.link))

    async def show_issue(visit: Visit) -> Response:
        issue = visit.view.issue
        found = (
            None
            if issue is None
            else await issue_values(current, visit.at, issue, clock.now(), visit.caller, trace_url_template, visit.link)
        )
        if found is None:
            return error_page(404, "There is no such issue", "It does not exist, or all its turns were deleted.")
        return visit.page("issue.html", **found)

    async def show_sessions(visit: Visit) -> Response:
        if visit.caller.project is not None:
            return error_page(
                404,
                "This token has no access to this page",
                "Sessions belong to a tenant, but this token is valid for only some of its projects.",
            )
        span = await visits.span(visit)
        ratings = await session_ratings(pool, visit.at.tenant, span, "day")
        return visit.page("sessions.html", s=ratings, span=span, turns=turns_in_words, day=lambda one: one.start[:10])

    async def show_alerts(visit: Visit, outcome: FormOutcome | None = None) -> Response:
        if alert_administration is None:
            return error_page(404, "There is nothing here", "This process has no alerts.")
        found = await alert_administration.overview(visit.at)
        return visit.page(
            "alerts.html",
            outcome=outcome,
            alerts=found.alerts,
            rules=rules_shown(found.rules),
            channels=found.channels,
            most_channels=MOST_CHANNELS_OF_RULE,
            channel_kinds=CHANNEL_NAMES,
            admin=not {ADMIN, OPERATE}.isdisjoint(visit.caller.scopes),
            agent_names=await agent_ids(current, visit.at),
        )

    async def change_alerts(request: Request) -> Response:
        visit = await visits.of(request)
        if isinstance(visit, Response) or alert_administration is None:
            return visit if isinstance(visit, Response) else await show_alerts(visit)
        return await show_alerts(visit, await carry_out(alert_administration, visit.at, request))

    async def show_conversation(request: Request) -> Response:
        caller: Caller = request.state.caller
        view = view_of(request)
        if view.id is None:
            return error_page(400, "This address does not work", "It has no conversation id.")
        at = chosen(view, [] if view.at is None else await projects(current, caller.tenant, caller.projects))
        if at is None or not caller.may_touch(*at):
            return error_page(404, *NO_PROJECT)
        visit = Visit(caller, view, at, [at])
        reviewer = caller.subject if REVIEW in caller.scopes else None
        span = await visits.span(visit)
        shown = await reading.conversation(current, visit.at, view, span, reviewer, trace_url_template)
        if shown is None:
            return error_page(404, "No such conversation", "This project has no messages or feedback of it.")
        await note(visit, "read", view.id)
        if reviewer and view.audit is not None:
            shown = replace(shown, queue=await audit_at(current, visit.at, view, visit.link))
        elif reviewer and view.queue and shown.came_from is not None:
            shown = replace(shown, queue=await queue_at(current, visit.at, span, view, visit.link, shown.came_from))
        return visit.page("conversation.html", c=shown, most_left=MOST_LEFT)

    def rows_of(visit: Visit, span: TimeSpan) -> AsyncIterator[asyncpg.Record]:
        return every(pool, visit.at, span, visit.view.listed)

    async def as_csv(visit: Visit) -> Response:
        await note(visit, "exported", "csv")
        return _file(
            exports.as_csv(rows_of(visit, await visits.span(visit))), "text/csv; charset=utf-8", "feedback.csv"
        )

    async def as_jsonl(visit: Visit) -> Response:
        await note(visit, "exported", "jsonl")
        lines = exports.as_jsonl(rows_of(visit, await visits.span(visit)))
        return _file(lines, "application/x-ndjson", "feedback.jsonl")

    for path, handler in (
        (FRONT, visits.answered(show_overview)),
        (LIVE, visits.answered(show_live)),
        (LIST, visits.answered(show_list)),
        (AGENT, visits.answered(show_agent)),
        (COMPARE, visits.answered(show_comparison)),
        (CALIBRATION, visits.answered(show_calibration)),
        (AUDIT, visits.answered(show_audit)),
        (REVIEW_PAGE, visits.answered(show_review)),
        (SESSIONS, visits.answered(show_sessions)),
        (ISSUES, visits.answered(show_issues)),
        (ISSUE, visits.answered(show_issue)),
        (ALERTS, visits.answered(show_alerts)),
        (CONVERSATION, show_conversation),
    ):
        router.show("GET", path, READ, handler)
    router.show("GET", CSV, EXPORT, visits.answered(as_csv))
    router.show("GET", JSONL, EXPORT, visits.answered(as_jsonl))
    router.show("POST", ALERTS, (OPERATE, ADMIN), change_alerts)

    @router.at("GET", ASSET, READ, response_model=None)
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return error_page(404, "There is nothing here", "No such file.")
        body, media_type = ASSETS[name]
        headers = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(body, 200, headers, media_type)

    return router


def turns_in_words(one: RatingsOfLength) -> str:
    """Describe a range of session lengths: `1`, `2 to 3` or `32 or more`."""
    if one.turns_to is None:
        return f"{one.turns_from} or more"
    return str(one.turns_from) if one.turns_from == one.turns_to else f"{one.turns_from} to {one.turns_to}"


def _continued(cursor: str | None) -> tuple[TimeSpan, str] | None:
    """Split a list cursor into the time window of the first page and the position in the list.

    Returns None without a cursor. Raises BadCursor if the cursor is malformed.
    """
    if cursor is None:
        return None
    start, _, rest = cursor.partition("-")
    end, _, after = rest.partition("-")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end) <= ALWAYS.end):
        raise BadCursor
    return TimeSpan(int(start), int(end)), after


def _file(chunks: AsyncIterator[bytes], media_type: str, name: str) -> Response:
    return StreamingResponse(
        chunks, media_type=media_type, headers={**PRIVATE, "Content-Disposition": f'attachment; filename="{name}"'}
    )
