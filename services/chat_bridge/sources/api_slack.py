"""Where Slack's Events API sends what happens in a workspace."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from chat_bridge.ingest import IngestProject
from chat_bridge.sources.payload import json_object
from chat_bridge.sources.publishing import log, publish
from chat_bridge.sources.slack import NotUnderstood, SlackApp, chat_event
from chat_bridge.sources.slack_signature import is_signed
from servicekit.clock import Clock
from servicekit.http.log_writer import LogWriter
from servicekit.http.permissions import PUBLIC, Permissions
from servicekit.http.refusals import documented, refusal

SLACK_EVENTS = "/sources/slack/events"
SLACK_LIMIT = 1024 * 1024
"""Bytes of a request: a message comes with its formatting beside it."""
PERMISSIONS: Permissions = {("POST", SLACK_EVENTS): PUBLIC}
"""No token: Slack signs its requests."""


class Heard(BaseModel):
    """What became of a request. `challenge` is Slack's own, sent back when the address is set up."""

    outcome: str = Field(description="published, ignored, refused or challenge.", examples=["published"])
    challenge: str | None = Field(default=None, description="What Slack asked to be sent back; else null.")


ANSWERS = (
    documented(401, "The signature is not that of the signing secret, or the request is older than five minutes.")
    | documented(404, "No signing secret is set: CHAT_BRIDGE_SLACK_SIGNING_SECRET.")
    | documented(413, "The body is too large.")
    | documented(422, "The body is not an event of Slack.")
    | documented(429, "The embedded log is full; Slack sends the event again.")
    | documented(503, "The log does not answer; Slack sends the event again.")
)
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A request of Slack's Events API: url_verification or event_callback.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


def slack_router(
    secret: str | None, app: SlackApp, intake: LogWriter, clock: Clock, judge_at: int | None = None
) -> APIRouter:
    """The route for Slack. An event that is not ours, or not understood, is answered 200: it would only come again."""
    router = APIRouter(tags=["sources"])

    @router.post(SLACK_EVENTS, responses=ANSWERS, openapi_extra=BODY)
    async def hear(request: Request) -> Heard:
        """Take an event of a Slack workspace: messages, replies in threads, edits, deletions, reactions."""
        if not secret:
            raise refusal(404, "Slack is not set up here.")
        body = await request.body()
        stamp, signature = (request.headers.get(f"x-slack-{name}", "") for name in ("request-timestamp", "signature"))
        if not is_signed(secret, stamp, signature, body, clock.now()):
            raise refusal(401, "This is not a signed request of Slack, or an old one.")
        payload = json_object(body)
        if payload.get("type") == "url_verification":
            return Heard(outcome="challenge", challenge=str(payload.get("challenge", ""))[:1_000])
        try:
            event = chat_event(payload, app) if payload.get("type") == "event_callback" else None
        except NotUnderstood as error:
            log.warning("source_event_not_understood", source="slack", why=str(error))
            return Heard(outcome="refused")
        place = IngestProject(app.tenant, app.project, clock.now() if judge_at is None else judge_at)
        return Heard(outcome=await publish([] if event is None else [event], place, intake, "slack"))

    return router
