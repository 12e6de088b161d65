"""HTTP ingest: chat events for those who do not speak Kafka, as one JSON object a line."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request
from pydantic import BaseModel, Field

from chat_bridge.ingest import LINES_LIMIT, Place, TooManyLines, check
from contracts.base import Scope
from servicekit.auth import INGEST, Caller, caller_in
from servicekit.clock import Clock
from servicekit.failures import Unavailable
from servicekit.intake import LogFull, LogIntake, trace_headers
from servicekit.refusals import refusal, refusal_of, require_media_type, told

INGEST_LIMIT = 8 * 1024 * 1024
"""Bytes of a request's lines."""
REFUSED_SHOWN = 1_000
EVENTS = "/ingest/{tenant}/{project}/events"
NDJSON = "application/x-ndjson"
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
    """A line that was not taken, counted from 1."""

    line: int = Field(examples=[3])
    reason: str = Field(description="A short name.", examples=["invalid_event"])
    detail: str = Field(description="In words, without the line's content.", examples=["conversationId: missing"])


class Ingested(BaseModel):
    """`accepted` lines are in the log. `refused` shows the first 1,000 of `refused_total`."""

    accepted: int = Field(examples=[2])
    refused: list[RefusedEvent]
    refused_total: int = Field(examples=[1])


ANSWERS = (
    told(401, "No valid access token.")
    | told(403, "The token does not reach that project, or lacks the scope ingest.")
    | told(413, f"More than {INGEST_LIMIT} bytes, or than {LINES_LIMIT} lines.")
    | told(415, "The body is not sent as NDJSON.")
    | told(422, "The path names no project.")
    | told(429, "The embedded log is full; see Retry-After.")
    | told(503, "The log does not answer. Some lines may have been taken: send all again, repeats do no harm.")
)
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "Events of chat.message.ingested, chat.message.reply.ingested and "
        "chat.message.reaction.ingested, each with its `topic`. Tenant and project may be left out.",
        "content": {NDJSON: {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


def ingest_router(log: LogIntake, clock: Clock, judge_at: int | None = None) -> APIRouter:
    """The route that takes chat events in. `judge_at` (microseconds) stands in for now against future events."""
    router = APIRouter(tags=["ingest"])

    @router.post(EVENTS, responses=ANSWERS, openapi_extra=BODY)
    async def ingest(
        request: Request,
        tenant: Annotated[Scope, Path(examples=["acme"])],
        project: Annotated[Scope, Path(examples=["support"])],
        caller: Annotated[Caller, Depends(caller_in)],
        traceparent: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> Ingested:
        """Put chat events into the log, one JSON object a line.

        Each line is checked by itself: those in order are taken, the others named with what is wrong.
        """
        if INGEST not in caller.scopes:
            raise refusal(403, "This token may not send chat events.")
        require_media_type(request, [NDJSON, "application/ndjson", "application/jsonl"])
        place = Place(tenant, project, clock.now() if judge_at is None else judge_at)
        try:
            checked = await check(await request.body(), place, trace_headers(traceparent))
            await log.write(checked.messages)
        except TooManyLines:
            raise refusal(413, f"More than {LINES_LIMIT} lines.") from None
        except (LogFull, Unavailable) as error:
            raise refusal_of(error) from None
        refused = [
            RefusedEvent(line=one.line, reason=one.reason, detail=one.detail) for one in checked.refused[:REFUSED_SHOWN]
        ]
        return Ingested(accepted=len(checked.messages), refused=refused, refused_total=len(checked.refused))

    return router
