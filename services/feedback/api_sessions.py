"""HTTP routes that end a session and return the number of stored ratings."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field

from contracts.base import Id, Name
from contracts.scopes import ON_BEHALF
from feedback.sessions import GivenEnd, Sessions
from servicekit.errors import RequestRefused
from servicekit.web.auth import RequestCaller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

JSON = "application/json"
THREAD_END = "/api/threads/{thread_id:segment}/end"
MEMORY_STATUS = "/api/memory/status"


class EndedSession(BaseModel):
    """Response to a request that ends a session. It does not reveal whether the rating was stored."""

    status: Literal["ended"] = Field(default="ended", description="The status; always `ended`.")


class MemoryStatus(BaseModel):
    """Number of stored ratings of a thread."""

    thread_id: str = Field(description="The session's thread, which is the conversation's id.", examples=["c-42"])
    session_feedback_count: int = Field(
        description="Number of the thread's ratings that the caller may count.", examples=[1]
    )


ThreadQuery = Annotated[
    Id, Query(description="The session's thread, which is the conversation's id.", examples=["c-42"])
]
TenantQuery = Annotated[
    Name | None, Query(description="The tenant, for a token of all tenants; by default the token's tenant.")
]
ENDS = {
    401: "No valid access token.",
    403: "The token belongs to another tenant or project, or may not speak for others.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    422: "The label is not positive, negative, skip or null, or the body is invalid otherwise.",
}
STATUS = {401: "No valid access token.", 422: "The thread id is missing.", 503: "The database does not answer."}
BODY = {"requestBody": {"required": False, "content": {JSON: {"schema": GivenEnd.model_json_schema()}}}}


def sessions_router(sessions: Sessions, default_tenant: str) -> Routes:
    """Return the routes that end a session and count its ratings.

    Args:
        default_tenant: Tenant to use if neither the request nor its token names a tenant.
    """
    router = Routes("sessions")

    @router.at("POST", THREAD_END, "any token", response_model=EndedSession, refuses=ENDS, openapi_extra=BODY)
    async def end(request: Request, thread_id: Id, caller: RequestCaller) -> EndedSession | Response:
        """End a session, with or without a rating. The response does not reveal whether the rating was stored.

        If all questions in the thread came from other people, the rating is stored only with the scope on_behalf.
        """
        body = await read_body(request, {JSON: _session_end}) if await request.body() else GivenEnd()
        tenant = body.tenant or caller.tenant or default_tenant
        project = body.project or caller.project
        if not caller.may_touch(tenant, project):
            raise RequestRefused(403, "This token does not cover that tenant and project.")
        for_others = ON_BEHALF in caller.scopes
        await sessions.end(tenant, project, thread_id, caller.person(body.user_id), body, speaks_for_others=for_others)
        return EndedSession()

    @router.at("GET", MEMORY_STATUS, "any token", refuses=STATUS)
    async def status(thread_id: ThreadQuery, caller: RequestCaller, tenant: TenantQuery = None) -> MemoryStatus:
        """Return the number of the caller's ratings of a thread.

        A token with the scope `read` for all projects of the tenant counts the ratings of all people.
        """
        if tenant is not None and caller.tenant not in (None, tenant):
            raise RequestRefused(403, "This token does not cover that tenant.")
        count = await sessions.count(tenant or caller.tenant or default_tenant, thread_id, caller.own_only)
        return MemoryStatus(thread_id=thread_id, session_feedback_count=count)

    return router


def _session_end(body: bytes) -> GivenEnd:
    return GivenEnd.model_validate_json(body if body.strip() not in (b"", b"null") else b"{}")
