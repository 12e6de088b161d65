"""HTTP routes for issues: list, read, change and merge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import asyncpg
from fastapi import Path, Query
from pydantic import Field

from contracts.base import ID_PATTERN, Id, Label
from contracts.scopes import READ, REVIEW
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.issues.job import is_available
from reporting.issues.reading import Issue, IssuePage, find_issue, list_issues, waiting
from reporting.issues.store import IssueChange, IssueState, change, merge
from reporting.model.requests import RequestBody
from reporting.model.responses import ResponseModel
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

ISSUES: Final = PROJECT + "/issues"
ISSUE: Final = ISSUES + "/{issue:segment}"
# Do not use the issue's own path: it would match a query about a conversation called "issues".
CHANGE, MERGE = ISSUE + "/change", ISSUE + "/merge"
IssuePath = Annotated[int, Path(description="The issue.", ge=1, lt=2**63, examples=[7])]


class IssuesQuery(RequestBody):
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


class IssueList(ResponseModel):
    available: Annotated[bool, Field(description="False if the server lacks the extra `issues`.")]
    waiting: Annotated[int, Field(description="Number of rejected turns that belong to no issue yet.")]
    items: Annotated[list[Issue], Field(description="Issues, most turns first.")]


class IssueId(ResponseModel):
    id: Annotated[int, Field(description="The issue.")]


@dataclass(frozen=True, slots=True)
class IssueChanges:
    """Changes of issues by the HTTP API and by the forms of the pages.

    Each method returns the id of the issue to show afterwards, and raises RequestRefused with status 404 if the project
    has no such issue.
    """

    pool: asyncpg.Pool
    clock: Clock

    async def change_issue(self, project: ProjectPath, issue: IssuePath, body: IssueBody) -> IssueId:
        """Set the state, resolving version, assignee and note of an issue."""
        wanted = IssueChange(body.state, body.resolved_in, body.assignee, body.note)
        if not await change(self.pool, project, issue, wanted, self.clock.now()):
            raise _unknown(issue)
        return IssueId(id=issue)

    async def merge_issue(self, project: ProjectPath, issue: IssuePath, body: MergeBody) -> IssueId:
        """Merge an issue into another issue of the same agent.

        All its turns move to the other issue. Later rejections on its topic are also assigned to the other issue.
        """
        if not await merge(self.pool, project, issue, body.into, self.clock.now()):
            raise RequestRefused(404, f"{issue} and {body.into} are not two issues of the same agent.")
        return IssueId(id=body.into)


@dataclass(frozen=True, slots=True)
class _Handlers:
    reads: asyncpg.Pool
    clock: Clock

    async def issues(self, project: ProjectPath, query: Annotated[IssuesQuery, Query()]) -> IssueList:
        """List issues, those with the most turns first.

        An issue is a group of an agent's rejected turns on one topic.
        """
        states, now = None if query.state is None else [query.state], self.clock.now()
        return IssueList(
            available=is_available(),
            waiting=await waiting(self.reads, project, query.agent_id),
            items=await list_issues(self.reads, project, now, query.agent_id, states, query.limit),
        )

    async def issue_of(self, project: ProjectPath, issue: IssuePath) -> IssuePage:
        """Get an issue with its turns."""
        detail = await find_issue(self.reads, project, issue, self.clock.now())
        if detail is None:
            raise _unknown(issue)
        return detail


def issues_router(reads: asyncpg.Pool, writes: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes for issues.

    Args:
        reads: Connection pool for queries.
        writes: Connection pool for storing changes.
    """
    router, handlers = Routes("issues", FAILURES), _Handlers(reads, clock)
    changes = IssueChanges(writes, clock)
    unknown = {404: "The project has no such issue, or it was merged."}
    router.at("GET", ISSUES, READ)(handlers.issues)
    router.at("GET", ISSUE, READ, unknown)(handlers.issue_of)
    router.at("POST", CHANGE, REVIEW, unknown)(changes.change_issue)
    router.at("POST", MERGE, REVIEW, unknown)(changes.merge_issue)
    return router


def _unknown(issue: int) -> RequestRefused:
    return RequestRefused(404, f"There is no issue {issue} in this project, or it was merged.")
