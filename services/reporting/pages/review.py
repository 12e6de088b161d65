"""Review page, and the queues of a reviewer: unreviewed verdicts that match the filters, and the random sample."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import UUID

import asyncpg
from fastapi import Response
from fastapi.responses import RedirectResponse

from contracts.scopes import REVIEW
from reporting.feedback.search import following
from reporting.http.paths import PROJECT
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.pages.issues import unsolved
from reporting.pages.view import View, path_of
from reporting.pages.visits import PageSources, Visit
from reporting.reviews.sample import pending, pending_count
from reporting.sql import SQL

REVIEW_PAGE: Final = "/dashboard/review"
ACCURACY: Final = "/dashboard/accuracy"
CONVERSATION: Final = "/dashboard/conversation"
MOST_LEFT: Final = 1_000
"""Maximum number of verdicts to read in order to count the turns left in a queue."""


class ReviewedTurn(NamedTuple):
    """Turn that the viewer reviewed last. `occurred_at` is the time of its verdict; None in the random sample."""

    conversation_id: str
    turn_id: str
    occurred_at: int | None


@dataclass(frozen=True, slots=True)
class Undo:
    """Form that retracts the last review.

    Attributes:
        path: The form's action.
        back: URL of the page to show afterwards.
    """

    path: str
    back: str


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """Viewer's position in a review queue.

    Attributes:
        left: Number of turns still to be reviewed.
        home: URL of the page that lists the queue.
        saved: URL of the page to show after a review.
        following: URL of the next turn in the queue.
        previous: URL of the previous turn, or None.
        undo: Form that retracts the last review, or None.
    """

    left: int
    home: str
    saved: str
    following: str
    previous: str | None = None
    undo: Undo | None = None


async def show_review(sources: PageSources, visit: Visit) -> Response:
    """Render the state of the review queue, or continue with its next turn after a review."""
    reviewer, view, pool = REVIEW in visit.caller.scopes, visit.view, sources.current
    span, last = await sources.span(visit), await last_reviewed(pool, visit)
    next_turn = await _next_in_queue(pool, visit, span, last) if reviewer else None
    if next_turn is not None and view.after is not None:
        return RedirectResponse(next_turn, 303)
    count, issues, controls = await asyncio.gather(
        _left(pool, visit, span, last),
        unsolved(pool, visit.project, sources.clock.now(), view.agent_id),
        sources.controls(visit, span),
    )
    return visit.page(
        "review.html",
        reviewer=reviewer,
        next=next_turn,
        left=count,
        most_left=MOST_LEFT,
        undo=undo_of(visit, last, queue=1, issue=view.issue, feedback=view.after),
        drawn=await next_in_sample(pool, visit, 0) if reviewer else None,
        issues=issues,
        **controls,
    )


async def last_reviewed(pool: asyncpg.Pool, visit: Visit) -> ReviewedTurn | None:
    """Return the turn that the viewer reviewed last, or None if there is none or it was erased."""
    after = visit.view.after
    if after is None:
        return None
    statement = SQL.turn_of_verdict if isinstance(after, UUID) else SQL.turn_of_draw
    row = await pool.fetchrow(*statement(**visit.project._asdict(), id=after))
    return None if row is None else ReviewedTurn(**row)


async def queue_at(pool: asyncpg.Pool, visit: Visit, span: TimeSpan, row: Mapping[str, Any]) -> ReviewQueue:
    """Return the viewer's position in the queue defined by the view's filters.

    Args:
        row: Feedback record that is shown.
    """
    view, last = visit.view, await last_reviewed(pool, visit)
    position, turn, filters = (row["occurred_at"], row["feedback_id"]), (view.id, row["turn_id"]), _waiting(view)
    older = await following(pool, visit.project, span, filters, position, turn)
    newer = await following(pool, visit.project, span, filters, position, turn, newer=True)
    home = visit.link(REVIEW_PAGE, issue=view.issue)
    return ReviewQueue(
        await _left(pool, visit, span, last),
        home,
        visit.link(REVIEW_PAGE, issue=view.issue, after=row["feedback_id"]),
        home if older is None else _page_of(older, visit),
        None if newer is None else _page_of(newer, visit),
        undo_of(visit, last, queue=1, issue=view.issue, feedback=view.after),
    )


async def next_in_sample(pool: asyncpg.Pool, visit: Visit, position: int, **parameters: Any) -> str | None:
    """Return the URL of the reviewer's next answer in the random sample, or None at its end.

    Args:
        position: Position after which to search. From the end of the sample, the search continues at its beginning.
        parameters: Further URL parameters.
    """
    answers = await pending(pool, visit.project, position, 1, visit.caller.subject)
    # The last review may not be visible yet: then the query returns the answer that was just reviewed.
    if not answers or position == answers[0].position:
        return None
    [answer] = answers
    place = {"id": answer.conversation_id, "turn": answer.turn_id, "audit": answer.position}
    return visit.link(CONVERSATION, **place, **parameters) + "#here"


async def sample_at(pool: asyncpg.Pool, visit: Visit) -> ReviewQueue:
    """Return the viewer's position in the random sample."""
    position = visit.view.audit
    return ReviewQueue(
        await pending_count(pool, visit.project, visit.caller.subject),
        visit.link(ACCURACY),
        visit.link(ACCURACY, audit=position, after=position),
        visit.link(ACCURACY, audit=position),
        undo=undo_of(visit, await last_reviewed(pool, visit), audit=visit.view.after),
    )


def undo_of(visit: Visit, last: ReviewedTurn | None, **parameters: Any) -> Undo | None:
    """Return the form that retracts the last review, or None if there is no last review.

    After the retraction, the viewer returns to the page of the reviewed turn.

    Args:
        parameters: Further URL parameters of that page.
    """
    if last is None:
        return None
    back = visit.link(CONVERSATION, id=last.conversation_id, turn=last.turn_id, **parameters)
    return Undo(review_path(visit.project, last.conversation_id, last.turn_id), back)


def review_path(project: Project, conversation_id: str, turn_id: str) -> str:
    """Return the API path of a turn's reviews."""
    return f"{path_of(PROJECT, project)}/{quote(conversation_id, safe='')}/turns/{quote(turn_id, safe='')}/reviews"


def _waiting(view: View) -> Filters:
    """Return the view's filters, limited to verdicts on turns without a review.

    Search words are ignored.
    """
    return view.filters.replace(unreviewed=True, feedback_type=view.feedback_type or "verdict")


async def _left(pool: asyncpg.Pool, visit: Visit, span: TimeSpan, last: ReviewedTurn | None) -> int:
    """Count the turns still to be reviewed.

    The turn that was reviewed last is not counted, even if its review is not stored yet. Only the newest MOST_LEFT
    verdicts are read.
    """
    filters = _waiting(visit.view)
    condition, values = where(visit.project, span, filters)
    conversation_id, turn_id = (None, None) if last is None else last[:2]
    turns = SQL.part("turns_found", view=filters.view, where=condition)
    statement = SQL.count_found.filled(view=turns, where="true")
    limits = {"limit": MOST_LEFT, "most": MOST_LEFT}
    count: int = await pool.fetchval(*statement(**values, last=conversation_id, last_turn=turn_id, **limits))
    return count


async def _next_in_queue(pool: asyncpg.Pool, visit: Visit, span: TimeSpan, last: ReviewedTurn | None) -> str | None:
    """Return the URL of the next turn in the queue, or None at the end of the queue.

    The next turn is the one after the turn that was reviewed last. If no turn has been reviewed, it is the first turn
    in the queue.
    """
    position, after = None, visit.view.after
    if last is not None and last.occurred_at is not None and isinstance(after, UUID):
        position = (last.occurred_at, after)
    turn = (None, None) if last is None else last[:2]
    row = await following(pool, visit.project, span, _waiting(visit.view), position, turn)
    return None if row is None else _page_of(row, visit, after=after)


def _page_of(row: asyncpg.Record, visit: Visit, **more: Any) -> str:
    of = {"id": row["conversation_id"], "turn": row["turn_id"], "feedback": row["feedback_id"]}
    return visit.link(CONVERSATION, queue=1, issue=visit.view.issue, **of, **more) + "#here"
