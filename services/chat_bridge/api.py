"""HTTP route that accepts chat and post events as JSON lines, for producers without a Kafka client."""

from __future__ import annotations

from itertools import islice
from typing import Any

from fastapi import Request
from pydantic import BaseModel, Field

from chat_bridge.ingest import LINES_LIMIT, REFUSED_LIMIT, IngestProject, Intake, TooManyLines
from contracts.base import Name
from contracts.scopes import INGEST
from contracts.topics import INBOUND_TOPICS
from servicekit.errors import RequestRefused
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

INGEST_LIMIT = 8 * 1024 * 1024
"""Maximum size of a request body, in bytes."""
EVENTS = "/ingest/{tenant}/{project}/events"
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


class RefusedEvent(BaseModel):
    """A rejected line of the request, and the reason for its rejection."""

    line: int = Field(description="The line's number, from 1.", examples=[3])
    reason: str = Field(description="The reason's short name.", examples=["invalid_event"])
    detail: str = Field(
        description="The reason in words, without the line's content.", examples=["conversationId: missing"]
    )


class Ingested(BaseModel):
    """Result of a request: the number of accepted lines, and the rejected lines."""

    accepted: int = Field(description="Number of lines that the consumers accept.", examples=[2])
    refused: list[RefusedEvent] = Field(description="The first 1,000 rejected lines.")
    refused_total: int = Field(description="Number of rejected lines.", examples=[1])


ANSWERS = {
    401: "No valid access token.",
    403: "The token does not cover that project, or lacks the scope ingest.",
    413: f"More than {INGEST_LIMIT} bytes, or than {LINES_LIMIT} lines.",
    415: "The body is not sent as NDJSON.",
    422: "The path contains an invalid tenant or project name.",
    429: "The embedded log is full; see Retry-After.",
    503: "The log does not answer. Some lines may have been written: send all again, it is safe to repeat.",
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"Events of {', '.join(_NAMES[:-1])} and {_NAMES[-1]}, each with its `topic`. Tenant and "
        "project may be left out.",
        "content": {NDJSON: {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


def ingest_router(intake: Intake) -> Routes:
    """Return the route that accepts chat and post events."""
    router = Routes("ingest")

    @router.at("POST", EVENTS, INGEST, body_limit=INGEST_LIMIT, refuses=ANSWERS, openapi_extra=BODY)
    async def ingest(
        request: Request,
        tenant: Name,
        project: Name,
    ) -> Ingested:
        """Write chat and post events to the log, one JSON object per line.

        Each line is validated on its own: valid lines are written, and invalid lines are listed in the response with
        their errors. An event of an erased person, dated before the end of the fifth minute after the erasure, is
        rejected with the reason `erased`. An event dated more than five minutes ahead of the log's time is written too,
        but consumers reject it, and it becomes a dead letter. The response lists it with the reason `future`.
        """
        body = await read_body(request, NDJSON_READERS)
        try:
            accepted, refused = await intake.take(IngestProject(tenant, project), body)
        except TooManyLines:
            raise RequestRefused(413, f"More than {LINES_LIMIT} lines.") from None
        shown = [RefusedEvent(line=line, **fault._asdict()) for line, fault in islice(refused.items(), REFUSED_LIMIT)]
        return Ingested(accepted=accepted, refused=shown, refused_total=len(refused))

    return router
