"""Queries of the audit: draw answers for review, list unreviewed answers, and count reviews by machine verdict."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.base import DecidedBy, Reaction
from detector.published import CheckedVerdicts
from reporting.api.audit.estimate import Stratum
from reporting.queries.selection import Project, TimeSpan
from reporting.read_models.database import Connection
from reporting.sql import SQL

MOST_ANSWERS: Final = 15_000
"""Maximum number of answers that the audit of a time window covers: its newest ones."""


@dataclass(frozen=True, slots=True)
class PendingReview:
    """Randomly drawn answer that nobody has reviewed yet.

    `position` orders the queue; `drawn_at` is in microseconds.
    """

    position: int
    conversation_id: str
    turn_id: str
    drawn_at: int


async def draw(connection: Connection, at: Project, span: TimeSpan, count: int, now: int) -> int:
    """Draw up to `count` random answers that people responded to. Return the number of answers drawn.

    Two thirds are answers without a machine verdict; the rest is split between rejected and praised answers. No answer
    is drawn twice. `now` is in microseconds. With the plans of a consumer's pool (`servicekit.db.database.INDEXED`), a
    draw takes 20 s for 15,000 answers: the caller must allow all plans.
    """
    announced = max(1, count // 6)
    silent = max(1, count - 2 * announced)
    span = await _covered(connection, at, span)
    window = {**at._asdict(), **span._asdict()}
    status = await connection.execute(*SQL.draw_reviews(**window, silent=silent, announced=announced, now=now))
    return int(status.rpartition(" ")[2])


async def pending(pool: asyncpg.Pool, at: Project, after: int, limit: int) -> list[PendingReview]:
    """Return drawn answers without a review in drawing order, first those after position `after`, then the others."""
    rows = await pool.fetch(*SQL.list_pending_reviews(**at._asdict(), after=after, limit=limit))
    return [PendingReview(*row) for row in rows]


async def pending_count(pool: asyncpg.Pool, at: Project) -> int:
    """Return the number of drawn answers without a review."""
    return int(await pool.fetchval(*SQL.count_pending_reviews(**at._asdict())))


async def strata(pool: asyncpg.Pool, at: Project, span: TimeSpan) -> dict[str, dict[Reaction | None, Stratum]]:
    """Return the numbers of answers and of their random reviews, by agent and machine verdict (None: no verdict)."""
    span = await _covered(pool, at, span)
    found: dict[str, dict[Reaction | None, Stratum]] = defaultdict(dict)
    for row in await pool.fetch(*SQL.count_strata(**at._asdict(), **span._asdict())):
        found[row["agent_id"]][row["machine"] or None] = Stratum(row["size"], row["ok"], row["neutral"], row["not_ok"])
    return found


async def reviewed_kinds(
    connection: Connection | asyncpg.Pool, at: Project
) -> dict[tuple[Reaction, DecidedBy | None], CheckedVerdicts]:
    """Return the numbers of reviewed and of right machine verdicts, by verdict and deciding part.

    Only the newest 1,000 drawn answers are counted.
    """
    rows = await connection.fetch(*SQL.count_reviewed_kinds(**at._asdict()))
    return {(row["reaction"], row["decided_by"]): CheckedVerdicts(row["right"], row["checked"]) for row in rows}


async def _covered(pool: Connection | asyncpg.Pool, at: Project, span: TimeSpan) -> TimeSpan:
    """Return the part of the window that contains its newest MOST_ANSWERS answers.

    A statement of its own, because PostgreSQL plans the next one by the start of the window.
    """
    start = await pool.fetchval(*SQL.start_of_newest_answers(**at._asdict(), **span._asdict(), most=MOST_ANSWERS))
    return span if start is None else span._replace(start=start)
