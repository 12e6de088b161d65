"""Storage of issues and their turns, and changes made by people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import asyncpg

from reporting.model.selection import Project
from reporting.sql import SQL
from reporting.sql.connection import Connection

IssueState = Literal["open", "resolved", "muted", "regressed"]
Turn = tuple[str, str]
"""Conversation id and turn id."""


class AgentScope(NamedTuple):
    tenant: str
    project: str
    agent_id: str

    @property
    def at(self) -> Project:
        return Project(self.tenant, self.project)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Rejected turn with its texts. Times are in microseconds.

    `asked_at` is the time of the question or, if the question is unknown, of the rejection.
    """

    conversation_id: str
    turn_id: str
    agent_id: str
    agent_version: str | None
    user_id: str
    asker_id: str | None
    by_person: bool
    occurred_at: int
    asked_at: int
    question: str
    answer: str
    complaint: str

    @property
    def turn(self) -> Turn:
        return self.conversation_id, self.turn_id


async def rejections(
    connection: Connection | asyncpg.Pool, project: Project, turns: Collection[Turn]
) -> list[Rejection]:
    """Return the effective rejections of the given turns with their texts. Unknown texts are empty.

    Turns without an effective rejection are skipped.
    """
    of = project._asdict()
    numbered = [(n, *turn) for n, turn in enumerate(sorted(turns))]
    rejected = {row["n"]: row for row in await connection.fetch(*SQL.rejections_of_turns.bulk(numbered, **of))}
    judged = [(n, row["conversation_id"], row["answer_id"], row["occurred_at"]) for n, row in rejected.items()]
    pairs = {row["n"]: row for row in await connection.fetch(*SQL.exchanges_of_feedback.bulk(judged, **of))}
    return [_rejection(row, pairs[n]) for n, row in rejected.items()]


def _rejection(row: asyncpg.Record, pair: asyncpg.Record) -> Rejection:
    names = ("conversation_id", "turn_id", "agent_id", "agent_version", "user_id", "by_person", "occurred_at")
    return Rejection(
        **{name: row[name] for name in names},
        asker_id=pair["sender_id"],
        asked_at=row["occurred_at"] if pair["asked_at"] is None else pair["asked_at"],
        question=pair["question"] or "",
        answer=pair["answer"] or "",
        complaint=row["text"] or "",
    )


@asynccontextmanager
async def writing(connection: Connection) -> AsyncIterator[None]:
    """Open a transaction that makes concurrent erasures wait.

    The statements in the transaction skip people who have already been erased.
    """
    async with connection.transaction():
        await connection.execute(*SQL.lock_erasures())
        yield


async def place(connection: Connection, project: Project, issue_of: Mapping[Turn, int]) -> None:
    """Assign turns to issues."""
    await connection.execute(
        *SQL.place_turns.bulk([(*turn, issue) for turn, issue in issue_of.items()], **project._asdict())
    )


async def recount(connection: Connection, project: Project, issues: Iterable[int], now: int) -> None:
    """Update the turn counts of issues and mark resolved issues as regressed if there are enough later rejections.

    `now` is in microseconds.
    """
    ids = sorted(set(issues))
    if ids:
        await connection.execute(*SQL.recount_issues(**project._asdict(), ids=ids))
        await connection.execute(*SQL.regress_issues(**project._asdict(), ids=ids, now=now))


class IssueChange(NamedTuple):
    """New state of an issue, set by a person. `resolved_in` is the version that resolved the issue, if known."""

    state: IssueState
    resolved_in: str | None
    assignee: str | None
    note: str | None


async def change(pool: asyncpg.Pool, project: Project, issue: int, wanted: IssueChange, now: int) -> bool:
    """Change an issue. Returns False if it does not exist or was merged. `now` is in microseconds."""
    values = {**project._asdict(), **wanted._asdict()}
    return await pool.fetchval(*SQL.change_issue(**values, id=issue, now=now)) is not None


async def merge(pool: asyncpg.Pool, project: Project, issue: int, into: int, now: int) -> bool:
    """Move all turns of an issue to another issue of the same agent.

    Returns:
        False if one of the issues does not exist, or they belong to different agents.
    """
    of = project._asdict()
    async with pool.acquire() as connection, connection.transaction():
        if not await connection.fetchval(*SQL.may_merge(**of, id=issue, into=into)):
            return False
        await connection.execute(*SQL.move_turns(**of, id=issue, into=into))
        await connection.execute(*SQL.mark_merged(**of, id=issue, into=into))
        await recount(connection, project, [issue, into], now)
    return True
