"""HTTP routes for issues: list, read, change, merge and split them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import asyncpg
from fastapi import Path, Query
from pydantic import BaseModel, Field

from contracts.base import ID_PATTERN, Id, Label
from contracts.scopes import READ, REVIEW
from reporting.http.bodies import RequestBody
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.issues.job import is_available
from reporting.issues.reading import IssuePage, find_issue, list_issues, waiting
from reporting.issues.store import IssueChange, IssueState, change, merge, split
from reporting.model.responses import InstantTime, ResponseModel
from reporting.model.selection import Project
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

ISSUES: Final = PROJECT + "/issues"
ISSUE: Final = ISSUES + "/{issue:segment}"
# Do not use the issue's own path: it would match a query about a conversation called "issues".
CHANGE, MERGE, SPLIT = ISSUE + "/change", ISSUE + "/merge", ISSUE + "/split"
IssuePath = Annotated[int, Path(description="The issue.", ge=1, lt=2**63, examples=[7])]


class IssuesQuestion(RequestBody):
    agent_id: Id | None = Field(default=None, description="List only issues of this agent.")
    state: IssueState | None = Field(default=None, description="List only issues in this state.")
    limit: Annotated[int, Field(ge=1, le=500, description="Maximum number of issues in the response.")] = 100


class IssueBody(RequestBody):
    """The new state, version, assignee and note of an issue. Omitted fields are cleared."""

    state: Literal["open", "resolved", "muted"] = Field(
        description="The state. `resolved` becomes `regressed` when people reject answers of the issue again."
    )
    resolved_in: Label | None = Field(
        default=None,
        description="The version of the agent that resolves the issue; null if all versions do from now on.",
    )
    assignee: Annotated[str, Field(min_length=1, max_length=200, pattern=ID_PATTERN)] | None = Field(
        default=None, description="The person who works on the issue."
    )
    note: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]+$")] | None = Field(
        default=None, description="A note on the issue."
    )


class MergeBody(RequestBody):
    into: Annotated[int, Field(ge=1, lt=2**63, description="Issue of the same agent that gets all turns.")]


class TurnBody(BaseModel):
    conversation_id: Id = Field(description="The conversation.")
    turn_id: Id = Field(description="The turn.")


class SplitBody(RequestBody):
    turns: Annotated[list[TurnBody], Field(min_length=1, max_length=1_000, description="Turns of the new issue.")]


class IssueItem(ResponseModel):
    """An issue, which is a group of an agent's rejected turns on one topic."""

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
    days: Annotated[
        list[int], Field(description="Number of rejected turns on each of the last 14 UTC days; the last one is today.")
    ]


class IssueList(ResponseModel):
    available: Annotated[bool, Field(description="False if the server lacks the extra `issues`.")]
    waiting: Annotated[int, Field(description="Number of rejected turns that belong to no issue yet.")]
    items: Annotated[list[IssueItem], Field(description="Issues, most turns first.")]


class IssueTurnItem(ResponseModel):
    """A rejected turn of an issue. Long texts are truncated, and unknown texts are null."""

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    user_id: Annotated[str, Field(description="The person.")]
    by_person: Annotated[
        bool, Field(description="True if a person rejected the answer, false if only the machine did.")
    ]
    ts: InstantTime = Field(validation_alias="occurred_at", description="Time of the rejection.")
    agent_version: Annotated[str | None, Field(description="The agent's version.")]
    question: Annotated[str | None, Field(description="The person's question.")]
    answer: Annotated[str | None, Field(description="The agent's answer.")]
    complaint: Annotated[str | None, Field(description="The text of the rejection.")]
    trace_id: Annotated[str | None, Field(description="The answer's trace.")]


class IssueDetail(ResponseModel):
    issue: Annotated[IssueItem, Field(description="The issue.")]
    turns: Annotated[list[IssueTurnItem], Field(description="Turns of the issue, most typical first, at most 100.")]


class IssueId(ResponseModel):
    id: Annotated[int, Field(description="The issue.")]


@dataclass(frozen=True, slots=True)
class IssueChanges:
    """Changes of issues by the HTTP API and by the forms of the pages.

    Each method returns the id of the issue to show afterwards, and raises RequestRefused with status 404 if the project
    has no such issue or turns.
    """

    pool: asyncpg.Pool
    clock: Clock

    async def change(self, project: Project, issue: int, body: IssueBody) -> int:
        wanted = IssueChange(body.state, body.resolved_in, body.assignee, body.note)
        if not await change(self.pool, project, issue, wanted, self.clock.now()):
            raise _unknown(issue)
        return issue

    async def merge(self, project: Project, issue: int, body: MergeBody) -> int:
        if not await merge(self.pool, project, issue, body.into, self.clock.now()):
            raise RequestRefused(404, f"{issue} and {body.into} are not two issues of the same agent.")
        return body.into

    async def split(self, project: Project, issue: int, body: SplitBody) -> int:
        turns = [(turn.conversation_id, turn.turn_id) for turn in body.turns]
        new_issue = await split(self.pool, project, issue, turns, self.clock.now())
        if new_issue is None:
            raise RequestRefused(404, f"The issue {issue} has none of these turns.")
        return new_issue


@dataclass(frozen=True, slots=True)
class _Handlers:
    reads: asyncpg.Pool
    changes: IssueChanges
    clock: Clock

    async def issues(self, project: ProjectPath, question: Annotated[IssuesQuestion, Query()]) -> dict[str, Any]:
        """List issues, those with the most turns first.

        An issue is a group of an agent's rejected turns on one topic.
        """
        states, now = None if question.state is None else [question.state], self.clock.now()
        return {
            "available": is_available(),
            "waiting": await waiting(self.reads, project, question.agent_id),
            "items": await list_issues(self.reads, project, now, question.agent_id, states, question.limit),
        }

    async def issue_of(self, project: ProjectPath, issue: IssuePath) -> IssuePage:
        """Get an issue with its turns."""
        detail = await find_issue(self.reads, project, issue, self.clock.now())
        if detail is None:
            raise _unknown(issue)
        return detail

    async def change_issue(self, project: ProjectPath, issue: IssuePath, body: IssueBody) -> IssueId:
        """Set the state, resolving version, assignee and note of an issue."""
        return IssueId(id=await self.changes.change(project, issue, body))

    async def merge_issue(self, project: ProjectPath, issue: IssuePath, body: MergeBody) -> IssueId:
        """Merge an issue into another issue of the same agent.

        All its turns move to the other issue. Later rejections on its topic are also assigned to the other issue.
        """
        return IssueId(id=await self.changes.merge(project, issue, body))

    async def split_issue(self, project: ProjectPath, issue: IssuePath, body: SplitBody) -> IssueId:
        """Move some turns of an issue to a new issue and return the id of the new issue."""
        return IssueId(id=await self.changes.split(project, issue, body))


def issues_router(reads: asyncpg.Pool, writes: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes for issues.

    Args:
        reads: Connection pool for queries.
        writes: Connection pool for storing changes.
    """
    router, handlers = Routes("issues", FAILURES), _Handlers(reads, IssueChanges(writes, clock), clock)
    unknown = {404: "The project has no such issue, or it was merged."}
    router.at("GET", ISSUES, READ, response_model=IssueList)(handlers.issues)
    router.at("GET", ISSUE, READ, unknown, response_model=IssueDetail)(handlers.issue_of)
    router.at("POST", CHANGE, REVIEW, unknown)(handlers.change_issue)
    router.at("POST", MERGE, REVIEW, unknown)(handlers.merge_issue)
    router.at("POST", SPLIT, REVIEW, unknown)(handlers.split_issue)
    return router


def _unknown(issue: int) -> RequestRefused:
    return RequestRefused(404, f"There is no issue {issue} in this project, or it was merged.")
