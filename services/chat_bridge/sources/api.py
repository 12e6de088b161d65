"""HTTP routes for webhooks of chat platforms. Each verifies a request, writes its events to the log, and responds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from pydantic_core import from_json

from chat_bridge.ingest import IngestProject, Intake
from chat_bridge.metrics import SOURCE_REQUESTS
from chat_bridge.sources.source import Dropped, NotUnderstood, Payload, SignedRequest, Source, SourceAnswer
from contracts.topics import CHAT_REACTION
from servicekit.errors import RequestRefused
from servicekit.web.routes import Routes

SLACK, MAPPED = "/sources/slack/events", "/sources/webhooks/{source:segment}"
SOURCE_LIMIT = 1024 * 1024
"""Maximum size of a request body, in bytes."""


class SourceOutcome(BaseModel):
    """Outcome of a request. Some platforms require a different response body (docs/sources.md)."""

    outcome: str = Field(
        description="published; ignored: no event that we use; refused: invalid, and invalid again if repeated.",
        examples=["published"],
    )


ANSWERS = {
    401: "The signature is missing or wrong, or the request is too old.",
    404: "This source is not configured.",
    413: f"More than {SOURCE_LIMIT} bytes.",
    422: "The body is not a JSON object.",
    429: "The embedded log is full; send the request again.",
    503: "The log does not answer; send the request again.",
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One JSON object, as the platform sends it.",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/x-www-form-urlencoded": {"schema": {"type": "object"}},
        },
    }
}


def source_router(sources: Mapping[str, Source], intake: Intake) -> Routes:
    """Return the routes for all sources, which are given by name."""
    router = Routes("sources", token=False)
    receives: dict[str, Any] = {"body_limit": SOURCE_LIMIT, "response_model": SourceOutcome, "refuses": ANSWERS}

    @router.at("POST", SLACK, "no token", openapi_extra=BODY, **receives)
    async def receive_from_slack(request: Request) -> Response:
        """Receive an event of a Slack workspace: messages, replies, edits, deletions, reactions, feedback buttons."""
        return await _receive(sources.get("slack"), request, intake)

    @router.at("POST", MAPPED, "no token", openapi_extra=BODY, **receives)
    async def receive(request: Request, source_name: Annotated[str, Path(alias="source")]) -> Response:
        """Receive a webhook of the platform `source`, which a map describes."""
        return await _receive(sources.get(source_name), request, intake)

    return router


async def _receive(source: Source | None, request: Request, intake: Intake) -> Response:
    """Write the events of a request to the log.

    A correctly signed request with a JSON object gets an error response only if the log does not accept its events.
    """
    if source is None:
        raise RequestRefused(404, "This source is not configured.")
    headers = {name.lower(): value for name, value in request.headers.items()}
    signed = SignedRequest(headers, await request.body(), intake.clock.now())
    if not source.verify(signed):
        SOURCE_REQUESTS.labels(source.name, "unsigned").inc()
        raise RequestRefused(401, "The signature of this request is missing, wrong or too old.")
    payload = _json_object(source.json_in(signed.body))
    if payload is None:
        SOURCE_REQUESTS.labels(source.name, "unreadable").inc()
        raise RequestRefused(422, "The body is not a JSON object.")
    outcome = await _publish(source, payload, intake)
    SOURCE_REQUESTS.labels(source.name, outcome).inc()
    answer = source.answer(payload) or SourceAnswer(body={"outcome": outcome})
    if answer.body is None:
        return Response(status_code=answer.status, media_type="application/json")
    return JSONResponse(answer.body, answer.status)


def _json_object(body: bytes) -> Payload | None:
    try:
        payload = from_json(body)
    except ValueError:
        return None
    return payload if isinstance(payload, dict) else None


async def _publish(source: Source, payload: Payload, intake: Intake) -> str:
    """Write the valid events of a payload to the log, and store the reasons for the others.

    Returns:
        `published`, `ignored` if the payload contains no event that we use, or `refused` if it contains no valid event.

    Raises:
        LogFull: The response is 429, and the platform sends the request again.
        Unavailable: The response is 503, and the platform sends the request again.
    """
    project = IngestProject(source.tenant, source.project)
    try:
        converted = source.events(payload)
    except NotUnderstood as error:
        await intake.drop(project, source.name, [str(error)])
        return "refused"
    dropped = [item for item in converted if isinstance(item, Dropped)]
    await intake.drop(project, source.name, [item.reason for item in dropped])
    events = [  # Some platforms send whole seconds. Reactions of one second are then ordered by their arrival.
        {"sequence": intake.clock.now() + number, **event}
        if event["topic"] == CHAT_REACTION.name and event["occurredAt"].endswith(".000000Z")
        else event
        for number, event in enumerate(converted)
        if not isinstance(event, Dropped)
    ]
    if not events:
        return "refused" if any(item.is_refused for item in dropped) else "ignored"
    lines = (json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") for event in events)
    return "published" if (await intake.take(project, b"\n".join(lines))).accepted else "refused"
