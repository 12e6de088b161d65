"""Database queries of the random sample of answers for review."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, Self

import asyncpg
from pydantic import BaseModel, Field, model_validator

from detector.intervals import wilson
from reporting.model.selection import Project, TimeSpan
from reporting.reviews.figures import Agreement, SampledShare, SecondReview, sampled
from reporting.sql import SQL
from reporting.sql.connection import Connection

MOST_ANSWERS: Final = 15_000
"""Maximum number of answers that an audit covers. The newest answers of the time window are used."""


_LISTED: Final = 20
"""Maximum number of disagreements to list."""


class PendingReview(NamedTuple):
    """Randomly drawn answer without a review by its assignee, or by anyone if the assignee is empty.

    `position` is its place in the queue. `drawn_at` is in microseconds.
    """

    position: int
    conversation_id: str
    turn_id: str
    assignee: str
    drawn_at: int


class Draw(BaseModel):
    """Request for random answers to review.

    Attributes:
        count: Maximum number of answers.
        assignee: Reviewer who is to review them, or empty for any reviewer.
        is_second: True to draw answers that others have reviewed, so that the agreement of reviewers can be measured.
            Needs an assignee.
    """

    count: int = 50
    assignee: Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f]*$")] = ""
    is_second: bool = False

    @model_validator(mode="after")
    def _has_second_reviewer(self) -> Self:
        if self.is_second and not self.assignee:
            raise ValueError("a second review needs an assignee")
        return self


async def draw(connection: Connection, project: Project, span: TimeSpan, wanted: Draw, now: int) -> int:
    """Draw random answers that people responded to, and return the number drawn.

    Half of them have a rejection by the machine, and half have none. Except for second reviews, answers are never drawn
    twice.

    Args:
        now: The current time in microseconds.
    """
    span = await _covered(connection, project, span)
    window = {**project._asdict(), **span._asdict()}
    values = {**window, "assignee": wanted.assignee, "now": now}
    if wanted.is_second:
        status = await connection.execute(*SQL.draw_second_reviews(**values, count=wanted.count))
    else:
        status = await connection.execute(*SQL.draw_reviews(**values, half=wanted.count // 2))
    return int(status.rpartition(" ")[2])


async def pending(
    pool: asyncpg.Pool, project: Project, after: int, limit: int, reviewer: str | None = None
) -> list[PendingReview]:
    """Return drawn answers without a review, in the order they were drawn.

    The list starts after the position `after` and wraps around to the start of the queue.

    Args:
        reviewer: Only answers assigned to this reviewer or to nobody. If None, all.
    """
    statement = SQL.list_pending_reviews(**project._asdict(), after=after, limit=limit, reviewer=reviewer)
    rows = await pool.fetch(*statement)
    return [PendingReview(*row) for row in rows]


async def pending_count(pool: asyncpg.Pool, project: Project, reviewer: str | None = None) -> int:
    """Return the number of drawn answers without a review, or only of those that `reviewer` may review."""
    return int(await pool.fetchval(*SQL.count_pending_reviews(**project._asdict(), reviewer=reviewer)))


async def agreement(pool: asyncpg.Pool, project: Project) -> Agreement:
    """Return the agreement of reviewers on the turns that several of them reviewed."""
    rows = await pool.fetch(*SQL.list_disagreements(**project._asdict()))
    agreeing = sum(row["is_unanimous"] for row in rows)
    bounds = wilson(agreeing, len(rows))
    disagreements = [
        SecondReview(conversation_id=row["conversation_id"], turn_id=row["turn_id"], reviews=row["reviews"])
        for row in rows[:_LISTED]
        if not row["is_unanimous"]
    ]
    return Agreement(turns=len(rows), agreeing=agreeing, low=bounds.low, high=bounds.high, disagreements=disagreements)


async def samples(pool: asyncpg.Pool, project: Project, span: TimeSpan) -> dict[bool, SampledShare]:
    """Count the answers and their random reviews, with and without a rejection by the machine."""
    span = await _covered(pool, project, span)
    rows = await pool.fetch(*SQL.count_samples(**project._asdict(), **span._asdict()))
    counted = {row["is_rejected"]: sampled(row["answers"], row["reviewed"], row["rejected"]) for row in rows}
    return {is_rejected: counted.get(is_rejected, sampled(0, 0, 0)) for is_rejected in (True, False)}


async def _covered(pool: Connection | asyncpg.Pool, project: Project, span: TimeSpan) -> TimeSpan:
    """Shorten the time window to its newest MOST_ANSWERS answers.

    The start of the window is queried separately, because PostgreSQL plans the main query better if it knows the start.
    """
    start = await pool.fetchval(*SQL.start_of_newest_answers(**project._asdict(), **span._asdict(), most=MOST_ANSWERS))
    return span if start is None else span._replace(start=start)
