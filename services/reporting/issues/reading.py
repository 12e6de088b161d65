"""Queries for issues, used by the API and the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import asyncpg
from pydantic import Field

from contracts.instants import DAY
from reporting.issues.store import IssueState
from reporting.model.responses import InstantTime, ResponseModel
from reporting.model.selection import Project
from reporting.sql import SQL

TREND_DAYS: Final = 14
EXAMPLES: Final = 3
MOST_TURNS: Final = 100
"""Maximum number of turns on an issue's page. The feedback list shows all of them."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Issue, which is a group of an agent's rejected turns on one topic."""

    id: Annotated[int, Field(description="Id of the issue, which does not change while the issue grows.")]
    agent_id: Annotated[str, Field(description="The agent.")]
    words: Annotated[
        list[str], Field(description="Distinctive words of the issue's questions, most distinctive first.")
    ]
    state: Annotated[IssueState, Field(description="State of the issue: open, resolved, muted or regressed.")]
    resolved_in: Annotated[str | None, Field(description="The version that resolved the issue.")]
    state_at: Annotated[InstantTime, Field(description="Time of the last change of the state.")]
    assignee: Annotated[str | None, Field(description="The person who works on the issue.")]
    note: Annotated[str | None, Field(description="A note on the issue.")]
    merged_into: Annotated[
        int | None, Field(description="The issue into which this issue was merged; null if it was not merged.")
    ]
    turns: Annotated[int, Field(description="Number of rejected turns.")]
    people: Annotated[int, Field(description="Number of people who rejected an answer.")]
    first_at: Annotated[InstantTime | None, Field(description="Time of the first rejection; null without turns.")]
    last_at: Annotated[InstantTime | None, Field(description="Time of the last rejection.")]
    versions: Annotated[list[str], Field(description="Versions of the agent that gave the rejected answers.")]
    typical_question: Annotated[
        str | None,
        Field(description="Question of the turn nearest to the issue's centre; null if unknown, and for one issue."),
    ]
    days: Annotated[
        list[int], Field(description="Number of rejected turns on each of the last 14 UTC days; the last one is today.")
    ]

    @property
    def title(self) -> str:
        """The issue's distinctive words, or a title with its id if there are none."""
        return ", ".join(self.words) or f"Issue {self.id}"


@dataclass(frozen=True, slots=True)
class IssueTurn:
    """Rejected turn of an issue. Long texts are truncated, and unknown texts are null."""

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    user_id: Annotated[str, Field(description="The person.")]
    by_person: Annotated[
        bool, Field(description="True if a person rejected the answer, false if only the machine did.")
    ]
    occurred_at: Annotated[InstantTime, Field(serialization_alias="ts", description="Time of the rejection.")]
    agent_version: Annotated[str | None, Field(description="The agent's version.")]
    trace_id: Annotated[str | None, Field(description="The answer's trace.")]
    question: Annotated[str | None, Field(description="The person's question.")]
    answer: Annotated[str | None, Field(description="The agent's answer.")]
    complaint: Annotated[str | None, Field(description="The text of the rejection.")]


class IssuePage(ResponseModel):
    issue: Annotated[Issue, Field(description="The issue.")]
    turns: Annotated[list[IssueTurn], Field(description="Turns of the issue, most typical first, at most 100.")]


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
    return IssuePage(issue=issue_row, turns=[IssueTurn(**values) for values in turns])


async def _with_days(pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record], now: int) -> list[Issue]:
    days = range(now // DAY - TREND_DAYS + 1, now // DAY + 1)
    ids = [row["id"] for row in rows]
    counted = {
        (row["issue_id"], row["day"] // DAY): row["turns"]
        for row in await pool.fetch(*SQL.count_issue_days(**project._asdict(), ids=ids, start=days.start * DAY))
    }
    return [Issue(**row, days=[counted.get((row["id"], day), 0) for day in days]) for row in rows]
