"""HTTP routes for issues: list, read, change, merge and split them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote

import asyncpg
from fastapi import Path, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from contracts.base import Name
from contracts.scopes import READ, REVIEW
from reporting.http.conversations import FAILURES, PROJECT
from reporting.http.issue_models import (
    IssueBody,
    IssueDetail,
    IssueId,
    IssueList,
    IssuesQuestion,
    MergeBody,
    SplitBody,
    TurnBody,
    detail_of,
    item_of,
)
from reporting.issues.job import is_available
from reporting.issues.reading import find_issue, list_issues, waiting
from reporting.issues.store import IssueChange, change, merge, split
from reporting.model.selection import Project
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

ISSUES: Final = PROJECT + "/issues"
ISSUE: Final = ISSUES + "/{issue:segment}"
# Do not use the issue's own path: it would match a query about a conversation called "issues".
CHANGE, MERGE, SPLIT = ISSUE + "/change", ISSUE + "/merge", ISSUE + "/split"
PAGE: Final = "/dashboard/issue"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
IssuePath = Annotated[int, Path(description="The issue.", ge=1, lt=2**63, examples=[7])]
Body = TypeVar("Body", bound=BaseModel)
_UNKNOWN: Final = {404: "The project has no such issue, or it was merged."}


def issues_router(reads: asyncpg.Pool, writes: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the routes for issues.

    Args:
        reads: Connection pool for queries.
        writes: Connection pool for storing changes.
    """
    router = Routes("issues", FAILURES)

    @router.at("GET", ISSUES, READ)
    async def issues(tenant: Name, project: Name, question: Annotated[IssuesQuestion, Query()]) -> IssueList:
        """List issues, those with the most turns first.

        An issue is a group of an agent's rejected turns on one topic.
        """
        scope = Project(tenant, project)
        states = None if question.state is None else [question.state]
        rows = await list_issues(reads, scope, clock.now(), question.agent_id, states, question.limit)
        return IssueList(
            available=is_available(),
            waiting=await waiting(reads, scope, question.agent_id),
            items=[item_of(row) for row in rows],
        )

    @router.at("GET", ISSUE, READ, refuses=_UNKNOWN)
    async def issue_of(tenant: Name, project: Name, issue: IssuePath) -> IssueDetail:
        """Get an issue with its turns."""
        scope = Project(tenant, project)
        detail = await find_issue(reads, scope, issue, clock.now())
        if detail is None:
            raise _unknown(issue)
        return detail_of(detail)

    @router.at("POST", CHANGE, REVIEW, response_model=IssueId, refuses=_UNKNOWN, openapi_extra=_body(IssueBody))
    async def change_issue(tenant: Name, project: Name, issue: IssuePath, request: Request) -> IssueId | Response:
        """Set the state, resolving version, assignee and note of an issue."""
        body = await _read(request, IssueBody, _plain(IssueBody))
        scope, wanted = Project(tenant, project), IssueChange(body.state, body.resolved_in, body.assignee, body.note)
        if not await change(writes, scope, issue, wanted, clock.now()):
            raise _unknown(issue)
        return _answer(request, scope, issue)

    @router.at("POST", MERGE, REVIEW, response_model=IssueId, refuses=_UNKNOWN, openapi_extra=_body(MergeBody))
    async def merge_issue(tenant: Name, project: Name, issue: IssuePath, request: Request) -> IssueId | Response:
        """Merge an issue into another issue of the same agent.

        All its turns move to the other issue. Later rejections on its topic are also assigned to the other issue.
        """
        body = await _read(request, MergeBody, _plain(MergeBody))
        scope = Project(tenant, project)
        if not await merge(writes, scope, issue, body.into, clock.now()):
            raise RequestRefused(404, f"{issue} and {body.into} are not two issues of the same agent.")
        return _answer(request, scope, body.into)

    @router.at("POST", SPLIT, REVIEW, response_model=IssueId, refuses=_UNKNOWN, openapi_extra=_body(SplitBody))
    async def split_issue(tenant: Name, project: Name, issue: IssuePath, request: Request) -> IssueId | Response:
        """Move some turns of an issue to a new issue and return the id of the new issue."""
        body = await _read(request, SplitBody, _split_form)
        scope = Project(tenant, project)
        new_issue = await split(
            writes, scope, issue, [(turn.conversation_id, turn.turn_id) for turn in body.turns], clock.now()
        )
        if new_issue is None:
            raise RequestRefused(404, f"The issue {issue} has none of these turns.")
        return _answer(request, scope, new_issue)

    return router


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a JSON request body. Forms are accepted but not described."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    definitions = schema.pop("$defs", {})
    for name, field in schema.get("properties", {}).items():
        if name == "turns":
            field["items"] = definitions["TurnBody"]
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


async def _read(request: Request, model: type[Body], form: Callable[[bytes], Body]) -> Body:
    """Parse a request body, which is JSON or a form from the dashboard.

    Raises:
        RequestRefused: If the body is invalid.
    """
    return await read_body(request, {JSON: model.model_validate_json, FORM: form})


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith(FORM)


def _plain(model: type[Body]) -> Callable[[bytes], Body]:
    """Return a parser for form bodies that ignores empty fields."""
    return lambda raw: model.model_validate({name: value for name, value in _pairs(raw) if value})


def _split_form(raw: bytes) -> SplitBody:
    turns = [json.loads(value) for name, value in _pairs(raw) if name == "turn"]
    return SplitBody.model_validate({"turns": [dict(zip(TurnBody.model_fields, turn, strict=True)) for turn in turns]})


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=1_000)


def _answer(request: Request, project: Project, issue: int) -> IssueId | Response:
    """Return the id of the issue or, for a form, a redirect to the issue's page."""
    if not _is_form(request):
        return IssueId(id=issue)
    return RedirectResponse(
        f"{PAGE}?at={quote(project.tenant, safe='')}/{quote(project.project, safe='')}&issue={issue}", 303
    )


def _unknown(issue: int) -> RequestRefused:
    return RequestRefused(404, f"There is no issue {issue} in this project, or it was merged.")
