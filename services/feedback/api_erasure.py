"""HTTP routes to erase a person, and to ask how far that has come."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Header, Path
from pydantic import BaseModel, Field

from contracts.base import Id, Name
from contracts.feedback import FeedbackErasureRequested, FeedbackKeeper
from contracts.instants import format_instant
from contracts.scopes import ADMIN
from contracts.topics import ERASURE_REQUESTED
from feedback.erasure_status import ErasureStatuses
from servicekit.clock import Clock
from servicekit.errors import LogFull, Unavailable
from servicekit.log.messages import Message
from servicekit.web.log_writer import LogWriter, trace_headers
from servicekit.web.permissions import Permissions, needs
from servicekit.web.refusals import documented, refusal, refusal_of

PERSON = "/tenants/{tenant}/users/{user_id:segment}"
ERASURE = "/tenants/{tenant}/erasures/{request_id:segment}"
PERMISSIONS: Permissions = {("DELETE", PERSON): needs(ADMIN), ("GET", ERASURE): needs(ADMIN)}


class AcceptedErasure(BaseModel):
    """The log holds the request: every service will carry it out, whatever happens."""

    request_id: str = Field(description="What to ask the status by.", examples=["8d0f0d0e-1f5f-4b8a-9f1d-2f6d1f0a7f11"])
    user_id: str = Field(description="The person to be erased.", examples=["user-42"])
    status_url: str = Field(description="Where the status is.", examples=["/tenants/acme/erasures/8d0f0d0e"])


class ErasureReceipt(BaseModel):
    """A service has removed what the person said from its store."""

    service: FeedbackKeeper = Field(description="Which service.", examples=["reporting"])
    confirmed_at: str = Field(description="When, in UTC.", examples=["2026-11-20T09:30:00.000000Z"])
    removed: int = Field(description="Rows that it changed or deleted.", examples=[12])


class ErasureProgress(BaseModel):
    """Progress of an erasure."""

    request_id: str = Field(description="The request.", examples=["8d0f0d0e-1f5f-4b8a-9f1d-2f6d1f0a7f11"])
    user_id: str = Field(description="The person to be erased.", examples=["user-42"])
    requested_at: str = Field(description="When it was asked for, in UTC.", examples=["2026-11-20T09:29:59.000000Z"])
    complete: bool = Field(description="Whether every service has confirmed.", examples=[False])
    receipts: list[ErasureReceipt] = Field(description="The services that have confirmed.")
    missing: list[FeedbackKeeper] = Field(description="The services that have not yet.", examples=[["inference"]])


def erasure_router(log: LogWriter, statuses: ErasureStatuses, clock: Clock) -> APIRouter:
    """Return the routes `DELETE …/users/{user_id}` and `GET …/erasures/{request_id}` below `/tenants/{tenant}`."""
    router = APIRouter(tags=["erasure"])
    refusals = (
        documented(401, "No valid access token.")
        | documented(403, "The token lacks the scope admin, or a project binds it.")
        | documented(422, "The path does not read as it must.")
    )

    @router.delete(
        PERSON,
        status_code=202,
        summary="Erase a person",
        responses=refusals | documented(429, "The embedded log is full.") | documented(503, "The log does not answer."),
    )
    async def erase(
        tenant: Annotated[Name, Path(examples=["acme"])],
        user_id: Annotated[Id, Path(examples=["user-42"])],
        traceparent: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> AcceptedErasure:
        """Erase everything that a person has said up to now, in all projects of the tenant.

        Every service removes the texts from its store within seconds; the topics lose them with their retention.
        What the person says later is taken in again. Asking twice is harmless.
        """
        request_id = str(uuid4())
        event = FeedbackErasureRequested(
            event_id=request_id, occurred_at=clock.now(), tenant=tenant, user_id=user_id, request_id=request_id
        )
        value = event.model_dump_json(by_alias=True).encode()
        try:
            await log.write(
                [Message(ERASURE_REQUESTED.name, ERASURE_REQUESTED.key(event), value, trace_headers(traceparent))]
            )
        except (LogFull, Unavailable) as error:
            raise refusal_of(error) from None
        url = f"/tenants/{tenant}/erasures/{request_id}"
        return AcceptedErasure(request_id=request_id, user_id=user_id, status_url=url)

    @router.get(
        ERASURE,
        summary="Ask how far an erasure has come",
        responses=refusals | documented(404, "The tenant has no such request, or it has not been read yet."),
    )
    async def status(
        tenant: Annotated[Name, Path(examples=["acme"])], request_id: Annotated[Id, Path(examples=["8d0f0d0e"])]
    ) -> ErasureProgress:
        """Show which services have removed what the person said, and which have not yet."""
        found = await statuses.find(tenant, request_id)
        if found is None:
            raise refusal(404, "There is no such request to erase somebody, or it has not been read yet.")
        return ErasureProgress(
            request_id=request_id,
            user_id=found.user_id,
            requested_at=format_instant(found.requested_at),
            complete=not found.missing,
            receipts=[
                ErasureReceipt(service=one.service, confirmed_at=format_instant(one.confirmed_at), removed=one.removed)
                for one in found.receipts
            ],
            missing=found.missing,
        )

    return router
