"""HTTP routes for producers: one accepts chat and post events as JSON lines, one lists the rejected events."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field

from chat_bridge.ingest import LINES_LIMIT, REFUSED_LIMIT, IngestProject, Intake
from chat_bridge.refused_store import SHOWN, RefusedEvents
from contracts.base import Name
from contracts.instants import format_instant, parse_instant
from contracts.scopes import INGEST
from contracts.topics import INBOUND_TOPICS
from servicekit.errors import RequestRefused
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

INGEST_LIMIT = 8 * 1024 * 1024
"""Maximum size of a request body, in bytes."""
EVENTS = "/ingest/{tenant}/{project}/events"
REFUSED = "/conversations/{tenant}/{project}/refused"
NDJSON = "application/x-ndjson"
NDJSON_READERS = dict.fromkeys((NDJSON, "application/ndjson", "application/jsonl"), bytes)
_NAMES = [topic.name for topic in INBOUND_TOPICS]
_EXAMPLE = (
    '{"topic":"chat.message.ingested","eventId":"e-1","occurredAt":"2026-11-20T09:29:00Z","messageId":"m-1",'
    '"conversationId":"c-42","turnId":"t-7","senderId":"ann","senderType":"human","content":"What does it cost?"}\n'
    '{"topic":"chat.message.ingested","eventId":"e-2","occurredAt":"2026-11-20T09:29:05Z","messageId":"m-2",'
    '"conversationId":"c-42","turnId":"t-7","senderId":"bot","senderType":"agent","agentId":"shop-agent",'
    '"content":"It costs 20 euros."}\n'
    '{"topic":"chat.message.reaction.ingested","eventId":"e-3","occurredAt":"2026-11-20T09:29:30Z",'
    '"messageId":"m-2","conversationId":"c-42","userId":"ann","userType":"registered","emoji":"👎"}\n'
)


class Refusal(BaseModel):
    """Reason for the rejection of an event."""

    reason: str = Field(description="The reason's short name.", examples=["invalid_event"])
    detail: str = Field(
        description="The reason in words, without the event's content; or the source that dropped the event.",
        examples=["conversationId: field required"],
    )


class RefusedLine(Refusal):
    """A rejected line of the request, and the reason for its rejection."""

    line: int = Field(description="The line's number, from 1.", examples=[3])


class RefusedEvent(Refusal):
    """An event that was rejected by the HTTP route or by a consumer, or dropped by a source."""

    topic: str = Field(description="The event's topic; empty if it named none.", examples=["chat.message.ingested"])
    event_id: str = Field(description="The event's `eventId`; empty if it cannot be read.", examples=["e-7"])
    times: int = Field(description="Number of times that the event was rejected for this reason.", examples=[1])
    refused_at: str = Field(
        description="Time of the last rejection, RFC 3339.", examples=["2026-11-20T09:29:00.000000Z"]
    )


class RefusedList(BaseModel):
    """The rejected events of a project."""

    items: list[RefusedEvent] = Field(description=f"At most {SHOWN} events, the latest first.")
    truncated: bool = Field(description="True if there may be older rejected events, which the list omits.")


class Ingested(BaseModel):
    """Result of a request: the number of accepted lines, and the rejected lines."""

    accepted: int = Field(description="Number of lines that the consumers accept.", examples=[2])
    refused: list[RefusedLine] = Field(description="The first 1,000 rejected lines.")
    refused_total: int = Field(description="Number of rejected lines.", examples=[1])


ACCESS_ANSWERS = {
    401: "No valid access token.",
    403: "The token does not cover that project, or lacks the scope ingest.",
}
ANSWERS = {
    **ACCESS_ANSWERS,
    413: f"More than {INGEST_LIMIT} bytes, or than {LINES_LIMIT} lines.",
    415: "The body is not sent as NDJSON.",
    422: "The path contains an invalid tenant or project name.",
    429: "The embedded log is full; see Retry-After.",
    503: "The log does not answer. Some lines may have been written: send all again, it is safe to repeat.",
}
LIST_ANSWERS = {
    **ACCESS_ANSWERS,
    422: "The path contains an invalid tenant or project name, or `since` is not a time.",
    503: "The database does not answer; see Retry-After.",
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"Events of {', '.join(_NAMES[:-1])} and {_NAMES[-1]}, each with its `topic`. Tenant and "
        "project may be left out.",
        "content": {NDJSON: {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


def ingest_router(intake: Intake, rejected: RefusedEvents) -> Routes:
    """Return the routes that accept chat and post events, and list the rejected ones."""
    router = Routes("ingest")

    @router.at("POST", EVENTS, INGEST, body_limit=INGEST_LIMIT, refuses=ANSWERS, openapi_extra=BODY)
    async def ingest(
        request: Request,
        tenant: Name,
        project: Name,
    ) -> Ingested:
        """Write chat and post events to the log, one JSON object per line.

        Each line is validated on its own: valid lines are written, and invalid lines are listed in the response with
        their errors. An erased person's event that is dated up to five minutes after the erasure is rejected with the
        reason `erased`. An event dated more than five minutes ahead of the log's time is written too, but consumers
        reject it, and it becomes a dead letter. The response lists it with the reason `future`.
        """
        body = await read_body(request, NDJSON_READERS)
        accepted, refused = await intake.take(IngestProject(tenant, project), body)
        shown = [
            RefusedLine(line=line, reason=refusal.reason, detail=refusal.detail)
            for line, refusal in islice(refused.items(), REFUSED_LIMIT)
        ]
        return Ingested(accepted=accepted, refused=shown, refused_total=len(refused))

    @router.at("GET", REFUSED, INGEST, refuses=LIST_ANSWERS)
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
    ) -> RefusedList:
        """List the recently rejected events of a project, with event id and reason. Content is not included."""
        try:
            moment = 0 if since is None else parse_instant(since)
        except ValueError:
            raise RequestRefused(422, "since must be RFC 3339 with an offset.") from None
        rows = await rejected.since(tenant, project, moment)
        items = [RefusedEvent(**{**row, "refused_at": format_instant(row["refused_at"])}) for row in rows]
        return RefusedList(items=items, truncated=len(items) == SHOWN)

    return router
