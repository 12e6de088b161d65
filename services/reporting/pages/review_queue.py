"""Review queues: unreviewed verdicts that match the filters of the feedback list, and randomly drawn answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import asyncpg

from reporting.feedback.search import following
from reporting.http.paths import PROJECT
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.pages.view import Link, View, path_of
from reporting.reviews.sample import pending, pending_count
from reporting.sql import SQL

REVIEW_PAGE: Final = "/dashboard/review"
ACCURACY: Final = "/dashboard/accuracy"
CONVERSATION: Final = "/dashboard/conversation"
MOST_LEFT: Final = 1_000
"""Maximum number of verdicts to read in order to count the turns left in a queue."""


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


def waiting(view: View) -> Filters:
    """Return the view's filters, limited to verdicts on turns without a review.

    Search words are ignored.
    """
    return view.filters.replace(unreviewed=True, feedback_type=view.feedback_type or "verdict")


async def left(pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View) -> int:
    """Count the turns still to be reviewed.

    The turn that was reviewed last is not counted, even if its review is not stored yet. Only the newest MOST_LEFT
    verdicts are read.
    """
    filters = waiting(view)
    condition, values = where(at, span, filters)
    statement = SQL.count_turns.filled(view=filters.view, where=condition)
    count: int = await pool.fetchval(*statement(**values, last=view.last, last_turn=view.last_turn, limit=MOST_LEFT))
    return count


async def next_in_queue(pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View, link: Link) -> str | None:
    """Return the URL of the next turn in the queue, or None at the end of the queue.

    The next turn is the one after the turn that was reviewed last. If no turn has been reviewed, it is the first turn
    in the queue.
    """
    position = None
    if view.last_mark is not None and "-" in view.last_mark:
        moment = await pool.fetchval(*SQL.moment_of_feedback(**at._asdict(), feedback_id=view.last_mark))
        position = None if moment is None else (moment, UUID(view.last_mark))
    following_row = await following(pool, at, span, waiting(view), position, (view.last, view.last_turn))
    last = {"last": view.last, "last_turn": view.last_turn, "last_mark": view.last_mark}
    return None if following_row is None else _page_of(following_row, view, link, **last)


async def queue_at(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, view: View, link: Link, row: Mapping[str, Any]
) -> ReviewQueue:
    """Return the viewer's position in the queue defined by the view's filters.

    Args:
        row: Feedback record that the viewer is at.
    """
    position, turn = (row["occurred_at"], row["feedback_id"]), (view.id, row["turn_id"])
    older = await following(pool, at, span, waiting(view), position, turn)
    newer = await following(pool, at, span, waiting(view), position, turn, newer=True)
    home = link(REVIEW_PAGE, issue=view.issue)
    saved = link(
        REVIEW_PAGE, issue=view.issue, last=view.id, last_turn=row["turn_id"], last_mark=str(row["feedback_id"])
    )
    parameters = {"queue": 1, "issue": view.issue, "feedback": view.last_mark}
    return ReviewQueue(
        await left(pool, at, span, view),
        home,
        saved,
        home if older is None else _page_of(older, view, link),
        None if newer is None else _page_of(newer, view, link),
        undo_of(at, view, link, **parameters),
    )


async def next_in_audit(pool: asyncpg.Pool, at: Project, view: View, link: Link, reviewer: str) -> str | None:
    """Return the URL of the reviewer's next answer in the audit queue, or None at the end of the queue."""
    answers = await pending(pool, at, view.audit or 0, 1, reviewer)
    # The last review may not be visible yet: then the query returns the answer that was just reviewed.
    if not answers or view.audit == answers[0].position:
        return None
    [answer] = answers
    last = {"last": view.last, "last_turn": view.last_turn, "last_mark": view.last_mark}
    return link(CONVERSATION, id=answer.conversation_id, turn=answer.turn_id, audit=answer.position, **last) + "#here"


async def audit_at(pool: asyncpg.Pool, at: Project, view: View, link: Link, reviewer: str) -> ReviewQueue:
    """Return the viewer's position in the audit queue."""
    assert view.audit is not None
    return ReviewQueue(
        await pending_count(pool, at, reviewer),
        link(ACCURACY),
        link(ACCURACY, audit=view.audit, last=view.id, last_turn=view.turn, last_mark=view.audit),
        link(ACCURACY, audit=view.audit),
        undo=undo_of(at, view, link, audit=view.last_mark),
    )


def undo_of(at: Project, view: View, link: Link, **parameters: Any) -> Undo | None:
    """Return the form that retracts the last review, or None if there is no last review.

    After the retraction, the viewer returns to the page of the reviewed turn.

    Args:
        parameters: Further URL parameters of that page.
    """
    if view.last is None or view.last_turn is None:
        return None
    return Undo(
        review_path(at, view.last, view.last_turn), link(CONVERSATION, id=view.last, turn=view.last_turn, **parameters)
    )


def review_path(at: Project, conversation_id: str, turn_id: str) -> str:
    """Return the API path of a turn's reviews."""
    return f"{path_of(PROJECT, at)}/{quote(conversation_id, safe='')}/turns/{quote(turn_id, safe='')}/reviews"


def _page_of(row: asyncpg.Record, view: View, link: Link, **more: Any) -> str:
    of = {"id": row["conversation_id"], "turn": row["turn_id"], "feedback": row["feedback_id"]}
    return link(CONVERSATION, queue=1, issue=view.issue, **of, **more) + "#here"
