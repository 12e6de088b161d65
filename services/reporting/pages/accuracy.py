"""Accuracy page: the machine's verdicts compared with people's, and the random sample of reviewed answers."""

from __future__ import annotations

import asyncio

from fastapi import Response
from fastapi.responses import RedirectResponse

from contracts.scopes import REVIEW
from reporting.figures.calibration import NEWEST_VERDICTS, calibration
from reporting.http.reviews import DrawBody, draw_sample, figures
from reporting.pages.forms import Form
from reporting.pages.review_queue import ACCURACY, next_in_audit
from reporting.pages.visits import PageSources, Visit
from reporting.reviews.sample import MOST_ANSWERS, pending_count
from servicekit.db.database import Database


async def show_accuracy(sources: PageSources, visit: Visit) -> Response:
    """Render the accuracy page, or continue with the next answer of the random sample after a review."""
    pool, name, following, left = sources.current, visit.caller.subject, None, 0
    reviewer = REVIEW in visit.caller.scopes
    if reviewer:
        following = await next_in_audit(pool, visit.at, visit.view, visit.link, name)
        left = await pending_count(pool, visit.at, name)
    if visit.view.audit is not None and following is not None:
        return RedirectResponse(following, 303)
    span = await sources.span(visit)
    sampled = visit.view.span(sources.clock.now(), 0)  # 0: answers may be older than the first reaction
    filters = visit.view.filters.replace(origins=None)
    compared, sample, controls = await asyncio.gather(
        calibration(sources.reports, visit.at, span, filters),
        figures(pool, visit.at, sampled),
        sources.controls(visit, span),
    )
    return visit.page(
        "accuracy.html",
        c=compared,
        a=sample,
        newest_verdicts=NEWEST_VERDICTS,
        most_answers=MOST_ANSWERS,
        reviewer=reviewer,
        next=following,
        left=left,
        **controls,
    )


async def draw_answers(writes: Database, sources: PageSources, visit: Visit) -> Response:
    """Draw random answers for review, as the submitted form asks, and return to the accuracy page."""
    form = await Form.read(visit.request)
    body = form.parsed(DrawBody, assignee=form.field("assignee").strip(), second="second" in form)
    await draw_sample(writes, visit.at, body, sources.clock.now())
    return RedirectResponse(visit.link(ACCURACY), 303)
