"""HTTP routes that request the erasure of a person's data, return its progress, and forbid or allow training."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

import asyncpg
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name
from contracts.erasure import erasure_of
from contracts.feedback import FeedbackErasureRequested, FeedbackTrainingChosen
from contracts.log_time import at_log_time
from contracts.scopes import ADMIN
from contracts.topics import ERASURE_REQUESTED, TRAINING_CHOSEN
from feedback.erasure_status import ErasureProgress, progress_of
from feedback.turn_erasures import TurnErasures
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.log.records import Message, Producer
from servicekit.web.auth import Caller, RequestCaller
from servicekit.web.routes import Routes

PERSON = "/tenants/{tenant}/users/{user_id:segment}"
ERASURE = "/tenants/{tenant}/erasures/{request_id:segment}"


class AcceptedErasure(BaseModel):
    """An erasure request that was written to the log. Every service will carry it out."""

    request_id: str = Field(
        description="The request's id, for requesting its status.", examples=["8d0f0d0e-1f5f-4b8a-9f1d-2f6d1f0a7f11"]
    )
    user_id: str = Field(description="The person to be erased.", examples=["user-42"])
    status_url: str = Field(description="The path of the status.", examples=["/tenants/acme/erasures/8d0f0d0e"])


class GivenChoice(BaseModel):
    """A choice about training on a person's data."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    allowed: bool = Field(description="False if no model may be trained on the person's messages and feedback.")


REFUSALS: Final = {
    401: "No valid access token.",
    403: "The token lacks the scope admin, or is limited to a project.",
    422: "The path or the body is invalid.",
}
WRITE_REFUSALS: Final = REFUSALS | {429: "The embedded log is full.", 503: "The log does not answer."}


def erasure_router(log: Producer, reads: asyncpg.Pool, erasures: TurnErasures, clock: Clock) -> Routes:
    """Return the routes that request the erasure of a person's data, return its progress, and choose about training."""
    router = Routes("erasure")

    @router.at("DELETE", PERSON, ADMIN, status_code=202, summary="Erase a person", refuses=WRITE_REFUSALS)
    async def erase(tenant: Name, user_id: Id, caller: RequestCaller) -> AcceptedErasure:
        """Erase everything that a person has said until now, in all projects of the tenant.

        Every service removes the data from its store within seconds. The topics delete the data when their retention
        period ends. Feedback that the person gives more than five minutes later is accepted again. The request can be
        repeated safely.
        """
        request_id = str(uuid4())
        event = FeedbackErasureRequested(
            **_request(tenant, user_id, caller, clock.now(), request_id), request_id=request_id
        )
        [written] = await log.send([Message.of(ERASURE_REQUESTED, event)])
        # Noted here as well as by the consumer, so that a judgement right after this response is refused, not dropped.
        if written.log_time is not None:
            event = at_log_time(event, written.log_time, written.offset)
        await erasures.ledger.note([erasure_of(event, event.occurred_at)])
        url = f"/tenants/{tenant}/erasures/{request_id}"
        return AcceptedErasure(request_id=request_id, user_id=user_id, status_url=url)

    _add_choice(router, log, clock)

    @router.at(
        "GET",
        ERASURE,
        ADMIN,
        summary="Show the progress of an erasure",
        refuses=REFUSALS | {404: "The tenant has no such request, or it has not been read yet."},
    )
    async def status(tenant: Name, request_id: Id) -> ErasureProgress:
        """List the services that have removed the person's data, and the services that have not."""
        progress = await progress_of(reads, tenant, request_id)
        if progress is None:
            raise RequestRefused(404, "There is no such erasure request, or it has not been read yet.")
        return progress

    return router


def _add_choice(router: Routes, log: Producer, clock: Clock) -> None:
    """Add the route that forbids or allows training."""

    @router.at(
        "PUT",
        PERSON + "/training",
        ADMIN,
        status_code=202,
        summary="Forbid or allow training on a person's data",
        refuses=WRITE_REFUSALS | {400: "The body is not readable."},
    )
    async def choose(tenant: Name, user_id: Id, choice: GivenChoice, caller: RequestCaller) -> None:
        """Forbid or allow training on everything that a person says, in all projects of the tenant.

        Nothing is erased. Exports of training data skip the person, and the person's feedback records are announced
        again with `trainingAllowed`. The latest choice counts.
        """
        request = _request(tenant, user_id, caller, clock.now(), str(uuid4()))
        event = FeedbackTrainingChosen(**request, training_allowed=choice.allowed)
        await log.send([Message.of(TRAINING_CHOSEN, event)])


def _request(tenant: str, user_id: str, caller: Caller, now: int, event_id: str) -> dict[str, Any]:
    """Return the fields that all events with a request about a person have."""
    person = {"tenant": tenant, "user_id": user_id, "requested_by": caller.subject}
    return {"event_id": event_id, "occurred_at": now, **person}
