"""HTTP routes that end a session and return the number of stored ratings."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from agent_feedback_kit.answers import Label
from agent_feedback_kit.sessions.record import MemoryMode
from contracts.base import Id, Name
from contracts.scopes import ON_BEHALF
from feedback.sessions import SessionEnd, Sessions
from servicekit.errors import RequestRefused
from servicekit.web.auth import RequestCaller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

JSON = "application/json"
THREAD_END = "/api/threads/{thread_id:segment}/end"
MEMORY_STATUS = "/api/memory/status"


class GivenEnd(BaseModel):
    """The end of a session. If `feedback` is null, the session ends without a rating."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"examples": [{"feedback": "positive"}]}
    )

    feedback: Label | None = Field(
        default=None, description="`positive`, `negative` or `skip`; null records no rating."
    )
    user_id: Id | None = Field(
        default=None, description="The person of the session, if not the caller; needs the scope on_behalf."
    )
    tenant: Name | None = Field(
        default=None,
        description="The tenant, for a token of all tenants; by default the token's tenant.",
    )
    source: Literal["cli_end", "cli_exit", "api_end"] = Field(
        default="api_end",
        description="The interface in which the rating was given: a chat's `/end` (`cli_end`) or "
        "`/exit` (`cli_exit`), or another one.",
    )
    project: Name | None = Field(
        default=None, description="The project whose turns of the thread are counted; by default all projects."
    )
    memory_mode: Literal["local", "synced", "incognito"] = Field(
        default="local",
        description="`incognito`: the rating is stored without the user, only in the process's "
        "memory, and never announced.",
    )
    idempotency_key: Id | None = Field(
        default=None,
        description="With the scope on_behalf, one rating is stored for each key of a person and thread. Without the "
        "scope or without a key, a second rating of a person replaces the first, unless the thread has new turns and "
        "the first rating is older than a minute.",
    )


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
STATUS = {
    401: "No valid access token.",
    422: "The thread id is missing.",
    503: "The database does not answer.",
}
BODY = {"requestBody": {"required": False, "content": {JSON: {"schema": GivenEnd.model_json_schema()}}}}


def sessions_router(sessions: Sessions, default_tenant: str) -> Routes:
    """Return the routes that end a session and count its ratings.

    Args:
        default_tenant: Tenant to use if neither the request nor its token names a tenant.
    """
    router = Routes("sessions")

    @router.at("POST", THREAD_END, "any token", response_model=EndedSession, refuses=ENDS, openapi_extra=BODY)
    async def end(
        request: Request,
        thread_id: Id,
        caller: RequestCaller,
    ) -> EndedSession | Response:
        """End a session, with or without a rating. The response does not reveal whether the rating was stored.

        If all questions in the thread came from other people, the rating is stored only with the scope on_behalf.
        """
        body = await read_body(request, {JSON: _session_end}) if await request.body() else GivenEnd()
        tenant = body.tenant or caller.tenant or default_tenant
        project = body.project or caller.project
        if not caller.may_touch(tenant, project):
            raise RequestRefused(403, "This token does not cover that tenant and project.")
        person, for_others = caller.person(body.user_id), ON_BEHALF in caller.scopes
        if body.feedback is not None:
            mode = MemoryMode(body.memory_mode)
            ended = (tenant, project, thread_id, person, body.feedback, mode, body.idempotency_key)
            await sessions.end(SessionEnd(*ended, speaks_for_others=for_others, source=body.source))
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
