"""Review page: the queue of unreviewed verdicts, and the way into the random sample."""

from __future__ import annotations

import asyncio

from fastapi import Response
from fastapi.responses import RedirectResponse

from contracts.scopes import REVIEW
from reporting.pages.issues import unsolved
from reporting.pages.review_queue import MOST_LEFT, left, next_in_audit, next_in_queue, undo_of
from reporting.pages.visits import PageSources, Visit


async def show_review(sources: PageSources, visit: Visit) -> Response:
    """Render the state of the review queue, or continue with its next turn after a review."""
    reviewer, view, pool = REVIEW in visit.caller.scopes, visit.view, sources.current
    span = await sources.span(visit)
    following = await next_in_queue(pool, visit.at, span, view, visit.link) if reviewer else None
    if following is not None and view.last_mark is not None:
        return RedirectResponse(following, 303)
    first = view.model_copy(update={"audit": None})
    count, issues, controls = await asyncio.gather(
        left(pool, visit.at, span, view),
        unsolved(pool, visit.at, sources.clock.now(), view.agent_id),
        sources.controls(visit, span),
    )
    return visit.page(
        "review.html",
        reviewer=reviewer,
        next=following,
        left=count,
        most_left=MOST_LEFT,
        undo=undo_of(visit.at, view, visit.link, queue=1, issue=view.issue, feedback=view.last_mark),
        drawn=await next_in_audit(pool, visit.at, first, visit.link, visit.caller.subject) if reviewer else None,
        issues=issues,
        **controls,
    )
