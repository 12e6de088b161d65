"""Paths of the HTTP API, the parameters in them, and the error responses that every route may return."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends

from contracts.base import Id, Name
from reporting.model.selection import ConversationScope, Project

PROJECT: Final = "/conversations/{tenant}/{project}"
CONVERSATION: Final = PROJECT + "/{conversation_id:segment}"
FAILURES: Final = {
    400: "The body is not readable, or the cursor or watermark belongs to another query.",
    401: "No valid access token.",
    403: "The token is not valid for this tenant, project or person, or lacks the scope.",
    413: "The body is too large.",
    422: "A path parameter, a query parameter or the body is invalid.",
    503: "The database is unavailable; retry after Retry-After.",
}


async def _project(tenant: Name, project: Name) -> Project:
    return Project(tenant, project)


async def _conversation(tenant: Name, project: Name, conversation_id: Id) -> ConversationScope:
    return ConversationScope(tenant, project, conversation_id)


ProjectPath = Annotated[Project, Depends(_project)]
"""Type of a route handler's parameter that gets the project in the path."""
ConversationPath = Annotated[ConversationScope, Depends(_conversation)]
"""Type of a route handler's parameter that gets the conversation in the path."""
