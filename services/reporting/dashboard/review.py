"""Review queues: unreviewed verdicts that match the filters of the list, and answers drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import asyncpg

from reporting.api.audit.queries import pending, pending_count
from reporting.api.audit.routes import PAGE as AUDIT
from reporting.api.conversations import PROJECT
from reporting.dashboard.view import View
from reporting.queries.search import following
from reporting.queries.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL

REVIEW_PAGE: Final = "/dashboard/review"
CONVERSATION: Final = "/dashboard/conversation"
MOST_LEFT: Final = 1_000
"""Maximum number of verdicts to read when counting the turns left in a queue."""
Link = Callable[..., str]
"""Function that returns the URL of a page with the current filters and the given changes."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Form that retracts the last review: `path` is its action, `back` the page to show afterwards."""

    path: str
    back: str


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """Position in a review queue. `left` is the number of turns without a review; the other fields are URLs.

    `saved` is the page to show after a review. `following` and `previous` are the neighbouring turns in the queue.
    `home` is the page that lists the queue.
    """

    left: int
    home: str
    saved: str
    following: str
    previous: str | None = None
    undo: Undo | None = None


def waiting(view: View) -> Filters:
    """Return the view's filters limited to verdicts without a review. Search words are ignored."""
    return replace(view.filters, unreviewed=True, feedback_type=view.type or "verdict")


async def left(pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View) -> int:
    """Return the number of unreviewed turns among the newest MOST_LEFT verdicts, except for the turn reviewed last."""
    filters = waiting(view)
    condition, values = where(at, span, filters)
    statement = SQL.count_turns.filled(view=filters.view, where=condition)
    found: int = await pool.fetchval(*statement(**values, last=view.last, last_turn=view.last_turn, limit=MOST_LEFT))
    return found


async def next_in_queue(pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View, link: Link) -> str | None:
    """Return the URL of the next turn after the turn reviewed last; None at the end of the queue.

    Without a turn reviewed last, return the first turn of the queue.
    """
    place = None
    if view.last_mark is not None and "-" in view.last_mark:
        moment = await pool.fetchval(*SQL.moment_of_feedback(**at._asdict(), feedback_id=view.last_mark))
        place = None if moment is None else (moment, UUID(view.last_mark))
    found = await following(pool, at, span, waiting(view), place, (view.last, view.last_turn))
    last = {"last": view.last, "last_turn": view.last_turn, "last_mark": view.last_mark}
    return None if found is None else _page_of(found, view, link, **last)


async def queue_at(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View, link: Link, row: Mapping[str, Any]
) -> ReviewQueue:
    """Return the position of the feedback record `row` in the queue that the view's filters define."""
    place, turn = (row["occurred_at"], row["feedback_id"]), (view.id, row["turn_id"])
    older = await following(pool, at, span, waiting(view), place, turn)
    newer = await following(pool, at, span, waiting(view), place, turn, newer=True)
    home = link(REVIEW_PAGE, issue=view.issue)
    saved = link(
        REVIEW_PAGE, issue=view.issue, last=view.id, last_turn=row["turn_id"], last_mark=str(row["feedback_id"])
    )
    back = {"queue": 1, "issue": view.issue, "feedback": view.last_mark}
    return ReviewQueue(
        await left(pool, at, span, view),
        home,
        saved,
        home if older is None else _page_of(older, view, link),
        None if newer is None else _page_of(newer, view, link),
        undo_of(at, view, link, **back),
    )


async def next_in_audit(pool: asyncpg.Pool, at: Project, view: View, link: Link) -> str | None:
    """Return the URL of the next unreviewed answer in the audit queue, or None at the end of the queue."""
    found = await pending(pool, at, view.audit or 0, 1)
    # The last review may not be visible yet: then the query returns the answer that was just reviewed.
    if not found or view.audit == found[0].position:
        return None
    one = found[0]
    last = {"last": view.last, "last_turn": view.last_turn, "last_mark": view.last_mark}
    return link(CONVERSATION, id=one.conversation_id, turn=one.turn_id, audit=one.position, **last) + "#here"


async def audit_at(pool: asyncpg.Pool, at: Project, view: View, link: Link) -> ReviewQueue:
    """Return the position of the view's turn in the audit queue."""
    assert view.audit is not None
    return ReviewQueue(
        await pending_count(pool, at),
        link(AUDIT),
        link(AUDIT, audit=view.audit, last=view.id, last_turn=view.turn, last_mark=view.audit),
        link(AUDIT, audit=view.audit),
        undo=undo_of(at, view, link, audit=view.last_mark),
    )


def undo_of(at: Project, view: View, link: Link, **back: Any) -> Undo | None:
    """Return the form that retracts the last review, with the page of the reviewed turn to show afterwards.

    Return None without a last review.
    """
    if view.last is None or view.last_turn is None:
        return None
    return Undo(
        review_path(at, view.last, view.last_turn), link(CONVERSATION, id=view.last, turn=view.last_turn, **back)
    )


def review_path(at: Project, conversation_id: str, turn_id: str) -> str:
    """Return the API path for reviews of the turn."""
    place = PROJECT.format(tenant=quote(at.tenant, safe=""), project=quote(at.project, safe=""))
    return f"{place}/{quote(conversation_id, safe='')}/turns/{quote(turn_id, safe='')}/reviews"


def _page_of(row: asyncpg.Record, view: View, link: Link, **more: Any) -> str:
    of = {"id": row["conversation_id"], "turn": row["turn_id"], "feedback": row["feedback_id"]}
    return link(CONVERSATION, queue=1, issue=view.issue, **of, **more) + "#here"
