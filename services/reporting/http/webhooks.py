"""HTTP routes for operators of webhooks: the delivery state of endpoints, and replays."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from contracts.base import Name
from contracts.instants import format_instant
from contracts.scopes import ADMIN
from reporting.http.conversations import FAILURES
from reporting.outbox.endpoints import WebhookEndpoint
from reporting.outbox.store import Deliveries, Receiver
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

WEBHOOKS = "/tenants/{tenant}/webhooks"
REPLAY = WEBHOOKS + "/{endpoint:segment}/replay"


class WebhookStatus(BaseModel):
    """Delivery state of a webhook endpoint."""

    name: str = Field(description="The endpoint's name in the webhooks file.", examples=["learner"])
    waiting: int = Field(description="Number of undelivered events that will be retried.", examples=[0])
    dead: int = Field(description="Number of undelivered events that are not retried until a replay.", examples=[3])
    oldest: str | None = Field(
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
    router = Routes("webhooks", FAILURES)

    @router.at("GET", WEBHOOKS, ADMIN, summary="Delivery state of the webhook endpoints")
    async def webhook_statuses(tenant: Name) -> WebhookStatuses:
        """Get the number of waiting and dead events of each of the tenant's webhook endpoints."""
        counts = await deliveries.counts(tenant)
        statuses = []
        for endpoint in endpoints:
            if endpoint.settings.tenant == tenant:
                count = counts.get(endpoint.name)
                statuses.append(
                    WebhookStatus(
                        name=endpoint.name,
                        waiting=count.waiting if count else 0,
                        dead=count.dead if count else 0,
                        oldest=format_instant(count.oldest) if count else None,
                        last_answer=count.last_answer if count else None,
                    )
                )
        return WebhookStatuses(endpoints=statuses)

    @router.at(
        "POST",
        REPLAY,
        ADMIN,
        summary="Resend dead and waiting events",
        refuses={404: "The tenant has no endpoint with this name."},
    )
    async def replay(tenant: Name, endpoint: Name) -> Replayed:
        """Send the endpoint's dead and waiting events now."""
        if not any(candidate.name == endpoint and candidate.settings.tenant == tenant for candidate in endpoints):
            raise RequestRefused(404, "There is no endpoint with this name.")
        return Replayed(due=await deliveries.replay(Receiver(endpoint, tenant), clock.now()))

    return router
