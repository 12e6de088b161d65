"""Queries for issues, used by the API and the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.instants import DAY
from reporting.issues.store import IssueState
from reporting.model.selection import Project
from reporting.sql import SQL

TREND_DAYS: Final = 14
EXAMPLES: Final = 3
MOST_TURNS: Final = 100
"""Maximum number of turns on an issue's page. The feedback list shows all of them."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Issue of an agent. Times are in microseconds."""

    id: int
    agent_id: str
    words: Sequence[str]
    state: IssueState
    resolved_in: str | None
    state_at: int
    assignee: str | None
    note: str | None
    merged_into: int | None
    turns: int
    people: int
    first_at: int | None
    last_at: int | None
    versions: Sequence[str]
    typical_question: str | None
    """Question of the turn nearest to the issue's centre, or None if it is unknown. It is set only in lists."""
    days: Sequence[int]
    """Number of rejected turns on each of the last TREND_DAYS UTC days, ending today."""

    @property
    def title(self) -> str:
        """Return the issue's distinctive words, or a title with its id if there are none."""
        return ", ".join(self.words) or f"Issue {self.id}"


@dataclass(frozen=True, slots=True)
class IssueTurn:
    """Rejected turn of an issue. Long texts are truncated, and unknown texts are None.

    `occurred_at` is the time of the rejection in microseconds.
    """

    conversation_id: str
    turn_id: str
    user_id: str
    by_person: bool
    occurred_at: int
    agent_version: str | None
    trace_id: str | None
    question: str | None
    answer: str | None
    complaint: str | None


@dataclass(frozen=True, slots=True)
class IssuePage:
    """Issue with its turns. The turns nearest to the issue's centre come first."""

    issue: Issue
    turns: Sequence[IssueTurn]


async def list_issues(
    pool: asyncpg.Pool,
    project: Project,
    now: int,
    agent_id: str | None = None,
    states: Sequence[IssueState] | None = None,
    limit: int = 100,
) -> list[Issue]:
    """Return the issues that have turns, with their trends, those with the most turns first.

    Args:
        now: The current time in microseconds, for the trends.
        agent_id: Only issues of this agent.
        states: Only issues in one of these states.
    """
    rows = await pool.fetch(*SQL.list_issues(**project._asdict(), agent_id=agent_id, states=states, limit=limit))
    return await _with_days(pool, project, rows, now)


async def waiting(pool: asyncpg.Pool, project: Project, agent_id: str | None = None) -> int:
    """Return the number of rejected turns that have no issue."""
    count: int = await pool.fetchval(*SQL.count_waiting_turns(**project._asdict(), agent_id=agent_id))
    return count


async def find_issue(
    pool: asyncpg.Pool, project: Project, issue: int, now: int, limit: int = MOST_TURNS
) -> IssuePage | None:
    """Return an issue with its turns, or None if the project has no such issue.

    Args:
        now: The current time in microseconds, for the trend.
    """
    of = project._asdict()
    row = await pool.fetchrow(*SQL.find_issue(**of, id=issue))
    if row is None:
        return None
    (issue_row,) = await _with_days(pool, project, [row], now)
    turns = await pool.fetch(*SQL.turns_in_issue(**of, id=issue, limit=limit))
    return IssuePage(issue_row, [IssueTurn(**values) for values in turns])


async def _with_days(pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record], now: int) -> list[Issue]:
    days = range(now // DAY - TREND_DAYS + 1, now // DAY + 1)
    ids = [row["id"] for row in rows]
    counted = {
        (row["issue_id"], row["day"] // DAY): row["turns"]
        for row in await pool.fetch(*SQL.count_issue_days(**project._asdict(), ids=ids, start=days.start * DAY))
    }
    return [Issue(**row, days=[counted.get((row["id"], day), 0) for day in days]) for row in rows]
