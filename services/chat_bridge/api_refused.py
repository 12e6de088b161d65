"""HTTP route that lists the rejected events of a project, each with the rule that it violates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from chat_bridge.refused_store import SHOWN, RefusedEvents
from contracts.base import Name
from contracts.instants import format_instant, parse_instant
from contracts.scopes import INGEST
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

REFUSED = "/conversations/{tenant}/{project}/refused"
ANSWERS = {
    401: "No valid access token.",
    403: "The token does not cover that project, or lacks the scope ingest.",
    422: "The path contains an invalid tenant or project name, or `since` is not a time.",
    503: "The database does not answer; see Retry-After.",
}


class RefusedChatEvent(BaseModel):
    """An event that was rejected by the HTTP route or by a consumer."""

    topic: str = Field(description="The event's topic; empty if it named none.", examples=["chat.message.ingested"])
    event_id: str = Field(description="The event's `eventId`; empty if it cannot be read.", examples=["e-7"])
    field: str = Field(
        description="The field that violates the rule, or the source that dropped the event; empty if the rule is not "
        "about a single field.",
        examples=["content"],
    )
    rule: str = Field(description="The violated rule, in words or as a short name.", examples=["field required"])
    times: int = Field(description="Number of times that the event was rejected by this rule.", examples=[1])
    refused_at: str = Field(
        description="Time of the last rejection, RFC 3339.", examples=["2026-11-20T09:29:00.000000Z"]
    )


class RefusedChatEvents(BaseModel):
    """The rejected events of a project."""

    items: list[RefusedChatEvent] = Field(description=f"At most {SHOWN} events, the latest first.")
    truncated: bool = Field(description="True if there may be older rejected events, which the list omits.")


def refused_router(refused: RefusedEvents) -> Routes:
    """Return the route that lists rejected events."""
    router = Routes("ingest")

    @router.at("GET", REFUSED, INGEST, refuses=ANSWERS)
    async def list_refused(
        tenant: Name,
        project: Name,
        since: Annotated[
            str | None,
            Query(
                description="Earliest time of the rejections, RFC 3339 with an offset; by "
                "default all stored rejections are listed."
            ),
        ] = None,
    ) -> RefusedChatEvents:
        """List the recently rejected events of a project, with event id, field and rule. Content is not included."""
        try:
            moment = 0 if since is None else parse_instant(since)
        except ValueError:
            raise RequestRefused(422, "since must be RFC 3339 with an offset.") from None
        rows = await refused.since(tenant, project, moment)
        items = [RefusedChatEvent(**{**row, "refused_at": format_instant(row["refused_at"])}) for row in rows]
        return RefusedChatEvents(items=items, truncated=len(items) == SHOWN)

    return router
