"""Reviewers' decisions on suspect verdicts. They take precedence over the rules."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from reporting.queries.selection import Project
from reporting.sql import SQL


async def decide(
    pool: asyncpg.Pool, at: Project, feedback_id: UUID, by: str, now: int, *, suspect: bool, whole_person: bool
) -> int | None:
    """Store a reviewer's decision on a person's verdict.

    Args:
        by: The reviewer.
        now: The current time in microseconds.
        suspect: True if the verdict is spam, False to clear it.
        whole_person: When clearing, also clear all other suspect verdicts of the person in the project.

    Returns:
        The number of verdicts that the decision covers, or None if the project has no such verdict.
    """
    of = {**at._asdict(), "feedback_id": feedback_id, "whole_person": whole_person and not suspect}
    async with pool.acquire() as connection, connection.transaction():
        rows = await connection.fetch(*SQL.decide_suspects(**of, suspect=suspect, decided_by=by, now=now))
        ids = [row["feedback_id"] for row in rows]
        await connection.execute(*SQL.apply_decisions(**at._asdict(), ids=ids, reason="reviewer" if suspect else None))
    return len(ids) or None
