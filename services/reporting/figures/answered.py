"""Number of agents' answered turns, and number of those that people have judged."""

from __future__ import annotations

from typing import Final, NamedTuple

import asyncpg

from reporting.model.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

SCANNED: Final = 4_000
"""Maximum number of answers to read, newest first, before the filters apply."""


class AnsweredTurns(NamedTuple):
    """Number of an agent's answered turns, and of those with an effective verdict of a person."""

    turns: int
    with_feedback: int


async def answered_by_agent(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, scanned: int = SCANNED
) -> dict[str, AnsweredTurns]:
    """Count the answered turns by agent.

    A turn belongs to the agent of its last answer. The result is empty if a filter other than agent, version and
    model is set, because answers cannot be filtered by it.
    """
    if filters != Filters(agent_id=filters.agent_id, agent_version=filters.agent_version, model=filters.model):
        return {}
    chosen = filters.model_dump(include={"agent_id", "agent_version", "model"})
    rows = await pool.fetch(*SQL.answered_by_agent(**project._asdict(), **span._asdict(), **chosen, scanned=scanned))
    return {row["agent_id"]: AnsweredTurns(row["turns"], row["with_feedback"]) for row in rows}
