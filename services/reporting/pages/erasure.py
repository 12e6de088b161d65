"""Erasure page, on which an administrator erases a person's data, or forbids training on it.

The administrator looks up the person's data, confirms the erasure, and sees its progress by service. The page's script
sends the erasure request to the feedback service, which has the same base URL, and then polls that service for the
progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import asyncpg
from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError

from contracts.base import Id, Name
from contracts.feedback import ServiceName
from contracts.scopes import ADMIN
from reporting.access.sign_in import refused_page
from reporting.pages.rendering import page
from reporting.read_models.projects import projects
from reporting.sql import SQL
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from servicekit.web.routes import Routes

ERASE: Final = "/dashboard/erase"
ERASED: Final[Mapping[ServiceName, str]] = {
    "chat_bridge": "parked events",
    "feedback": "feedback up to a stub of its ids, roles, and the person's id in messages and ratings",
    "inference": "texts and ids of messages, questions with their vectors, and reactions",
    "reporting": "texts and senders of messages, feedback, and webhook deliveries",
}
"""Data that each service erases, as declared in its `service.py`."""
_DOTS: Final = "Browsers remove the ids . and .. from URLs: use the command `agent-feedback erase`."
_ID: Final[TypeAdapter[str]] = TypeAdapter(Id)
_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


def erasure_router(reads: asyncpg.Pool) -> Routes:
    """Return the route of the erasure page."""
    router = Routes("pages", token=False, hidden=True, page=refused_page)

    async def show(request: Request) -> Response:
        caller: Caller = request.state.caller
        parameters = request.query_params
        tenants = await tenants_of(reads, caller)
        tenant, user, wanted = (parameters.get(name, "") for name in ("tenant", "user", "request"))
        try:
            tenant = _NAME.validate_python(tenant) if tenant else (tenants or [""])[0]
            for person in (user, wanted):
                if person:
                    _ID.validate_python(person)
        except ValidationError:
            raise RequestRefused(400, "The id of a person has 1 to 256 characters.") from None
        if user in (".", ".."):
            raise RequestRefused(400, _DOTS)
        if caller.project is not None or (tenant and not caller.may_touch(tenant, None)):
            raise RequestRefused(404, "An erasure covers all projects of a tenant, so you need access to all of them.")
        counts: Mapping[str, int] = {}
        if user and not wanted:
            names = [project.project for project in await projects(reads, tenant, None)]
            [row] = await reads.fetch(*SQL.count_of_person(tenant=tenant, user_id=user, projects=names))
            counts = dict(row)
        return page(
            "erase.html",
            signed_in=True,
            operates=True,
            tenant=tenant,
            tenants=tenants,
            user=user,
            request=wanted,
            found=counts,
            training_allowed=not user or await reads.fetchval(*SQL.may_train(tenant=tenant, user_id=user)),
            erased=ERASED,
        )

    router.show("GET", ERASE, ADMIN, show)
    return router


async def tenants_of(reads: asyncpg.Pool, caller: Caller) -> list[str]:
    """Return the tenants in which the caller may erase people.

    The caller must have access to all projects of a tenant.
    """
    if caller.project is not None:
        return []
    if caller.tenant is not None:
        return [caller.tenant]
    return sorted({project.tenant for project in await projects(reads, None, None)})
