"""HTTP routes for operators of webhooks: the delivery state of endpoints, and replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from pydantic import BaseModel, Field

from contracts.base import Name
from contracts.scopes import ADMIN
from reporting.http.paths import FAILURES
from reporting.model.responses import InstantTime
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.store import Count, Deliveries, Receiver
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

WEBHOOKS: Final = "/tenants/{tenant}/webhooks"
REPLAY: Final = WEBHOOKS + "/{endpoint:segment}/replay"


class WebhookStatus(BaseModel):
    """Delivery state of a webhook endpoint."""

    name: str = Field(description="The endpoint's name in the webhooks file.", examples=["learner"])
    waiting: int = Field(description="Number of undelivered events that will be retried.", examples=[0])
    dead: int = Field(description="Number of undelivered events that are not retried until a replay.", examples=[3])
    oldest: InstantTime | None = Field(
        description="Arrival time of the oldest undelivered event, in UTC; null if there is none.", examples=[None]
    )
    last_answer: str | None = Field(
        description="Result of the last failed attempt: an HTTP status, `timeout`, `private_address` or the name of an "
        "error.",
        examples=["503"],
    )


class WebhookStatuses(BaseModel):
    """Delivery states of all webhook endpoints of the tenant."""

    endpoints: list[WebhookStatus] = Field(description="State of each endpoint of the tenant, in the file's order.")


class Replayed(BaseModel):
    """Result of a replay."""

    due: int = Field(description="Number of dead and waiting events, which will all be sent now.", examples=[3])


def webhooks_router(endpoints: Sequence[WebhookEndpoint], deliveries: Deliveries, clock: Clock) -> Routes:
    """Return the routes under `/tenants/{tenant}/webhooks`."""

    def names_of(tenant: str) -> list[str]:
        return [endpoint.name for endpoint in endpoints if endpoint.tenant == tenant]

    async def webhook_statuses(tenant: Name) -> dict[str, Any]:
        """Get the number of waiting and dead events of each of the tenant's webhook endpoints."""
        counts = await deliveries.counts(tenant)
        return {"endpoints": [{"name": name, **asdict(counts.get(name, Count()))} for name in names_of(tenant)]}

    async def replay(tenant: Name, endpoint: Name) -> Replayed:
        """Send the endpoint's dead and waiting events now."""
        if endpoint not in names_of(tenant):
            raise RequestRefused(404, "There is no endpoint with this name.")
        return Replayed(due=await deliveries.replay(Receiver(endpoint, tenant), clock.now()))

    router = Routes("webhooks", FAILURES)
    router.at("GET", WEBHOOKS, ADMIN, response_model=WebhookStatuses)(webhook_statuses)
    router.at("POST", REPLAY, ADMIN, {404: "The tenant has no endpoint with this name."})(replay)
    return router
