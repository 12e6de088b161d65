"""HTTP routes for the operator of webhooks: how the receivers stand, and a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from contracts.base import Name
from contracts.instants import format_instant
from contracts.scopes import ADMIN
from reporting.api import FAILURES, TenantPath
from reporting.webhooks.endpoints import Endpoint
from reporting.webhooks.store import Deliveries
from servicekit.clock import Clock
from servicekit.web.permissions import Permissions, needs
from servicekit.web.refusals import documented, refusal

WEBHOOKS = "/tenants/{tenant}/webhooks"
REPLAY = WEBHOOKS + "/{endpoint:segment}/replay"
PERMISSIONS: Permissions = {("GET", WEBHOOKS): needs(ADMIN), ("POST", REPLAY): needs(ADMIN)}


class Standing(BaseModel):
    """State of a receiver."""

    name: str = Field(description="The endpoint's name in the file.", examples=["learner"])
    waiting: int = Field(description="Events that are still to be handed over.", examples=[0])
    dead: int = Field(description="Events that were given up, until a replay.", examples=[3])
    oldest: str | None = Field(description="When the oldest of them came, in UTC; null for none.", examples=[None])
    last_answer: str | None = Field(
        description="Of those, the last failure: a status, `timeout`, `private_address` or an error's name.",
        examples=["503"],
    )


class Standings(BaseModel):
    """The tenant's receivers."""

    endpoints: list[Standing] = Field(description="One for each endpoint of the tenant, in the file's order.")


class Replayed(BaseModel):
    """Deliveries that a replay will send."""

    due: int = Field(description="Events that are sent again now: the dead and the waiting ones.", examples=[3])


def webhooks_router(endpoints: Sequence[Endpoint], deliveries: Deliveries, clock: Clock) -> APIRouter:
    """Return the routes below `/tenants/{tenant}/webhooks`."""
    router = APIRouter(responses=FAILURES, tags=["webhooks"])

    @router.get(WEBHOOKS, summary="How the receivers of webhooks stand")
    async def standings(tenant: TenantPath) -> Standings:
        """Count, for each endpoint of the tenant, what waits and what was given up."""
        counts = await deliveries.counts(tenant)
        found = []
        for endpoint in endpoints:
            if endpoint.settings.tenant == tenant:
                count = counts.get(endpoint.name)
                found.append(
                    Standing(
                        name=endpoint.name,
                        waiting=count.waiting if count else 0,
                        dead=count.dead if count else 0,
                        oldest=format_instant(count.oldest) if count else None,
                        last_answer=count.last_answer if count else None,
                    )
                )
        return Standings(endpoints=found)

    @router.post(
        REPLAY,
        summary="Send again what was given up",
        responses=documented(404, "The tenant has no endpoint of that name."),
    )
    async def replay(
        tenant: TenantPath, endpoint: Annotated[Name, Path(description="Its name.", examples=["learner"])]
    ) -> Replayed:
        """Send the dead events of an endpoint again, and those that wait for another try at once."""
        if not any(one.name == endpoint and one.settings.tenant == tenant for one in endpoints):
            raise refusal(404, "There is no endpoint of that name.")
        return Replayed(due=await deliveries.replay(tenant, endpoint, clock.now()))

    return router
