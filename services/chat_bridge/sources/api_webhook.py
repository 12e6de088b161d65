"""Where platforms send their webhooks that a map describes (`webhook_map.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from chat_bridge.ingest import IngestProject
from chat_bridge.sources.payload import json_object
from chat_bridge.sources.publishing import log, publish
from chat_bridge.sources.slack import NotUnderstood
from chat_bridge.sources.webhook import chat_events
from chat_bridge.sources.webhook_map import Source
from chat_bridge.sources.webhook_signature import is_signed
from servicekit.clock import Clock
from servicekit.http.log_writer import LogWriter
from servicekit.http.permissions import PUBLIC, Permissions
from servicekit.http.refusals import documented, refusal

WEBHOOKS = "/sources/webhooks/"
WEBHOOK = WEBHOOKS + "{source:segment}"
WEBHOOK_LIMIT = 1024 * 1024
"""Bytes of a request."""
PERMISSIONS: Permissions = {("POST", WEBHOOK): PUBLIC}
"""No token: the platform signs its requests, as the map says."""


class Taken(BaseModel):
    """What became of a request."""

    outcome: str = Field(description="published, ignored or refused.", examples=["published"])


ANSWERS = (
    documented(401, "The signature is not that of the map's secret, or the request is too old.")
    | documented(404, "No map has that name: CHAT_BRIDGE_WEBHOOK_MAPS.")
    | documented(413, "The body is too large.")
    | documented(422, "The body is not a JSON object.")
    | documented(429, "The embedded log is full; send this again.")
    | documented(503, "The log does not answer; send this again.")
)
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "What the platform sends: one JSON object.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


def webhook_router(
    sources: Mapping[str, Source], intake: LogWriter, clock: Clock, judge_at: int | None = None
) -> APIRouter:
    """The route of mapped webhooks. What no rule fits, or is not understood, is answered 200: it would come again."""
    router = APIRouter(tags=["sources"])

    @router.post(WEBHOOK, responses=ANSWERS, openapi_extra=BODY)
    async def take(request: Request, source: Annotated[str, Path(description="The map's name.")]) -> Taken:
        """Take a webhook of a platform that a map describes."""
        known = sources.get(source)
        if known is None:
            raise refusal(404, "No map has that name.")
        body = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not is_signed(known.map.signature, known.secret, headers, body, clock.now()):
            raise refusal(401, "This request is not signed as the map says, or too old.")
        payload = json_object(body)
        try:
            events = chat_events(payload, known)
        except NotUnderstood as error:
            log.warning("source_event_not_understood", source=known.name, why=str(error))
            return Taken(outcome="refused")
        now = clock.now() if judge_at is None else judge_at
        place = IngestProject(known.map.tenant, known.map.project, now)
        return Taken(outcome=await publish(events, place, intake, known.name))

    return router
