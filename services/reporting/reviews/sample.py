"""Database queries of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.base import DecidedBy, Reaction
from detector.published import CheckedVerdicts
from reporting.model.selection import Project, TimeSpan
from reporting.reviews.figures import SampledShare, sampled
from reporting.sql import SQL
from reporting.sql.connection import Connection

MOST_ANSWERS: Final = 15_000
"""Maximum number of answers that an audit covers. The newest answers of the time window are used."""


@dataclass(frozen=True, slots=True)
class PendingReview:
    """Randomly drawn answer without a review.

    `position` is its place in the queue. `drawn_at` is in microseconds.
    """

    position: int
    conversation_id: str
    turn_id: str
    drawn_at: int


async def draw(connection: Connection, project: Project, span: TimeSpan, count: int, now: int) -> int:
    """Draw up to `count` random answers that people responded to, and return the number drawn.

    Half of them have a rejection by the machine, and half have none. Answers are never drawn twice.

    Use a connection without the planner settings of `servicekit.db.database.INDEXED`. With them, drawing from 15,000
    answers takes 20 s.

    Args:
        now: The current time in microseconds.
    """
    span = await _covered(connection, project, span)
    window = {**project._asdict(), **span._asdict()}
    status = await connection.execute(*SQL.draw_reviews(**window, half=count // 2, now=now))
    return int(status.rpartition(" ")[2])


async def pending(pool: asyncpg.Pool, project: Project, after: int, limit: int) -> list[PendingReview]:
    """Return drawn answers without a review, in the order they were drawn.

    The list starts after the position `after` and wraps around to the start of the queue.
    """
    rows = await pool.fetch(*SQL.list_pending_reviews(**project._asdict(), after=after, limit=limit))
    return [PendingReview(*row) for row in rows]


async def pending_count(pool: asyncpg.Pool, project: Project) -> int:
    """Return the number of drawn answers without a review."""
    return int(await pool.fetchval(*SQL.count_pending_reviews(**project._asdict())))


async def samples(pool: asyncpg.Pool, project: Project, span: TimeSpan) -> dict[bool, SampledShare]:
    """Count the answers and their random reviews, with and without a rejection by the machine."""
    span = await _covered(pool, project, span)
    rows = await pool.fetch(*SQL.count_samples(**project._asdict(), **span._asdict()))
    counted = {row["is_rejected"]: sampled(row["answers"], row["reviewed"], row["rejected"]) for row in rows}
    return {is_rejected: counted.get(is_rejected, sampled(0, 0, 0)) for is_rejected in (True, False)}


async def reviewed_kinds(
    connection: Connection | asyncpg.Pool, project: Project
) -> dict[tuple[Reaction, DecidedBy | None], CheckedVerdicts]:
    """Count the reviewed machine verdicts and how many of them were correct.

    The counts are by verdict and by the detector component that decided it. They cover the 1,000 most recently drawn
    answers.
    """
    rows = await connection.fetch(*SQL.count_reviewed_kinds(**project._asdict()))
    return {(row["reaction"], row["decided_by"]): CheckedVerdicts(row["right"], row["checked"]) for row in rows}


async def _covered(pool: Connection | asyncpg.Pool, project: Project, span: TimeSpan) -> TimeSpan:
    """Shorten the time window to its newest MOST_ANSWERS answers.

    The start of the window is queried separately, because PostgreSQL plans the main query better if it knows the start.
    """
    start = await pool.fetchval(*SQL.start_of_newest_answers(**project._asdict(), **span._asdict(), most=MOST_ANSWERS))
    return span if start is None else span._replace(start=start)
