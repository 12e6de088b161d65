"""Decisions of reviewers on suspect verdicts, which override the rules."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from reporting.queries.selection import Project
from reporting.sql import SQL


async def decide(
    pool: asyncpg.Pool, at: Project, feedback_id: UUID, by: str, now: int, *, suspect: bool, whole_person: bool
) -> int | None:
    """Store a reviewer's decision on a person's verdict. Return the number of decided verdicts.

    Return None if the project has no such verdict. With `whole_person`, a decision that the verdict is not suspect
    applies to all suspect verdicts of the person in the project. `now` is in microseconds.
    """
    of = {**at._asdict(), "feedback_id": feedback_id, "whole_person": whole_person and not suspect}
    async with pool.acquire() as connection, connection.transaction():
        rows = await connection.fetch(*SQL.decide_suspects(**of, suspect=suspect, decided_by=by, now=now))
        ids = [row["feedback_id"] for row in rows]
        await connection.execute(*SQL.apply_decisions(**at._asdict(), ids=ids, reason="reviewer" if suspect else None))
    return len(ids) or None
