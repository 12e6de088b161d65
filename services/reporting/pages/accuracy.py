"""Accuracy page: the machine's verdicts compared with people's, and the random sample of reviewed answers."""

from __future__ import annotations

import asyncio

from fastapi import Response
from fastapi.responses import RedirectResponse

from contracts.scopes import REVIEW
from reporting.figures.calibration import calibration
from reporting.http.reviews import figures
from reporting.pages.forms import Form
from reporting.pages.review import ACCURACY, next_in_sample
from reporting.pages.visits import PageSources, Visit
from reporting.reviews.sample import MOST_ANSWERS, Draw, draw, pending_count
from servicekit.db.database import Database


async def show_accuracy(sources: PageSources, visit: Visit) -> Response:
    """Render the accuracy page, or continue with the next answer of the random sample after a review."""
    pool, following, left = sources.current, None, 0
    reviewer = REVIEW in visit.caller.scopes
    if reviewer:
        following = await next_in_sample(pool, visit, visit.view.audit or 0, after=visit.view.after)
        left = await pending_count(pool, visit.project, visit.caller.subject)
    if visit.view.audit is not None and following is not None:
        return RedirectResponse(following, 303)
    span = await sources.span(visit)
    sampled = visit.view.span(sources.clock.now(), 0)  # 0: answers may be older than the first reaction
    filters = visit.view.filters.replace(origins=None)
    compared, sample, controls = await asyncio.gather(
        calibration(sources.reports, visit.project, span, filters),
        figures(pool, visit.project, sampled),
        sources.controls(visit, span),
    )
    return visit.page(
        "accuracy.html",
        c=compared,
        a=sample,
        most_answers=MOST_ANSWERS,
        reviewer=reviewer,
        next=following,
        left=left,
        **controls,
    )


async def draw_answers(writes: Database, sources: PageSources, visit: Visit) -> Response:
    """Draw random answers of the period for review, as the submitted form asks, and return to the accuracy page."""
    form, now = await Form.read(visit.request), sources.clock.now()
    wanted = form.parsed(Draw, assignee=form.field("assignee").strip(), is_second="second" in form)
    async with writes.acquire() as connection, connection.transaction():
        await draw(connection, visit.project, visit.view.span(now, 0), wanted, now)
    return RedirectResponse(visit.link(ACCURACY), 303)
