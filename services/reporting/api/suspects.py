"""HTTP route for reviewers to confirm or clear the suspicion that a verdict is spam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, quote
from uuid import UUID

import asyncpg
from fastapi import Path, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from contracts.base import Name
from reporting.api.bodies import RequestBody
from reporting.api.conversations import FAILURES, PROJECT
from reporting.queries.answers import ResponseModel
from reporting.queries.selection import Project
from reporting.suspects.decisions import decide
from servicekit import Caller, Clock, RequestRefused, Routes, read_body

SUSPICION: Final = PROJECT + "/feedback/{feedback_id:segment}/suspicion"
PAGE: Final = "/dashboard/feedback"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
_UNKNOWN: Final = {404: "The project has no such verdict of a person."}
_Feedback = Annotated[UUID, Path(description="The feedback record.", examples=["c1d0e2f3-2222-5a3b-8c4d-5e6f7a8b9c0d"])]


class SuspicionBody(RequestBody):
    """A reviewer's decision on a verdict. It takes precedence over the rules that detect spam."""

    suspect: bool = Field(description="True if the verdict is spam and must not count; false if it counts.")
    whole_person: bool = Field(
        default=False,
        description="If `suspect` is false: also apply the decision to all suspect verdicts of the person here.",
    )


class Decided(ResponseModel):
    decided: Annotated[int, Field(description="Number of verdicts that the decision covers.")]


def suspects_router(writes: asyncpg.Pool, clock: Clock) -> Routes:
    """Return the route for decisions on suspect verdicts.

    Args:
        writes: Connection pool for storing decisions.
    """
    router = Routes("reporting", FAILURES)
    schema = SuspicionBody.model_json_schema()
    described: dict[str, Any] = {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}

    @router.at("POST", SUSPICION, response_model=Decided, refuses=_UNKNOWN, openapi_extra=described)
    async def decide_suspicion(
        tenant: Name, project: Name, feedback_id: _Feedback, caller: Caller, request: Request
    ) -> Decided | Response:
        """Mark a person's verdict as spam, or clear the suspicion. The figures change within seconds."""
        readers: Mapping[str, Callable[[bytes], SuspicionBody]] = {JSON: SuspicionBody.model_validate_json, FORM: _form}
        body = await read_body(request, readers)
        decided = await decide(
            *(writes, Project(tenant, project), feedback_id, caller.subject, clock.now()),
            suspect=body.suspect,
            whole_person=body.whole_person,
        )
        if decided is None:
            raise RequestRefused(404, "There is no such verdict of a person in this project.")
        if request.headers["content-type"].lower().startswith(FORM):
            at = f"{quote(tenant, safe='')}/{quote(project, safe='')}"
            return RedirectResponse(f"{PAGE}?at={at}&suspect=true&period=all", 303)
        return Decided(decided=decided)

    return router


def _form(raw: bytes) -> SuspicionBody:
    return SuspicionBody.model_validate(dict(parse_qsl(raw.decode(), max_num_fields=10)))
