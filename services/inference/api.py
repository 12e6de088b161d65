"""HTTP routes of the inference service: turn metadata, strategy search, and verdicts on new messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request

from contracts.base import Id, Name
from contracts.message_fields import MessageKey, TurnKey
from contracts.scopes import DETECT
from detector.model import Message
from inference.api_answers import Detected, FoundStrategies, FoundStrategy, TurnMetadata
from inference.api_bodies import Body, NewMessage, StrategySearch
from inference.detection import Detection
from inference.model import ConversationKey
from inference.turns.model import StrategyFilter
from inference.turns.search import TurnSearch
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import RequestCaller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

PROJECT = "/conversations/{tenant}/{project}"
CONVERSATION = PROJECT + "/{conversation_id:segment}"
SEARCH = PROJECT + "/strategies/search"
METADATA = CONVERSATION + "/turns/{turn_id:segment}/metadata"
NEW = CONVERSATION + "/detect"
JSON = "application/json"
UNNAMED = "new message"
"""Message id that is used for a message with neither a message id nor a turn id."""

READ = {
    401: "No valid access token.",
    403: "The token does not reach that project, or lacks the scope detect.",
    422: "The path or the body does not read as it must.",
    503: "The database does not answer; see Retry-After.",
}
SENT = READ | {413: "The body is too large."} | {415: "The body is not sent as JSON."}
EXAMPLES: dict[type[Body], dict[str, Any]] = {
    NewMessage: {"text": "No, that's wrong: I meant the museum.", "turn_id": "t-8", "ts": "2026-11-20T09:30:00Z"},
    StrategySearch: {"intent": "opening_hours", "text": "When can I visit on Sundays?", "limit": 5},
}


def taking(model: type[Body]) -> dict[str, Any]:
    """Return the OpenAPI description of a request body that follows `model`.

    The models to which `model` refers are inlined: a reference to one of the schema's own definitions would not resolve
    in an OpenAPI document.
    """
    schema = model.model_json_schema(by_alias=False)
    for name, definition in schema.pop("$defs", {}).items():
        reference, inlined = json.dumps({"$ref": f"#/$defs/{name}"}), json.dumps(definition)
        schema = json.loads(json.dumps(schema).replace(reference, inlined))
    content = {JSON: {"schema": schema, "example": EXAMPLES[model]}}
    return {"requestBody": {"required": True, "content": content}}


def inference_router(
    detection: Detection,
    turns: TurnSearch,
    clock: Clock,
    wait_for_index: Callable[[float | None], Awaitable[bool]] | None = None,
    redact: Callable[[bytes, str], bytes] = lambda body, _: body,
) -> Routes:
    """Build the HTTP routes of the inference service.

    The routes publish nothing. They store nothing except the language model's answers.

    Args:
        wait_for_index: Waits until the index contains every record that was in the log at the time of the call. Takes
            the maximum wait in seconds (None for the service's own limit) and returns False on timeout. None if the
            index is not filled from a log.
        redact: Redacts a request body with the rules of a project (`tenant/project`), as messages are redacted before
            they are stored.
    """
    router = Routes("inference")
    _add_turn_routes(router, turns)

    @router.at("POST", NEW, DETECT, response_model=Detected, refuses=SENT, openapi_extra=taking(NewMessage))
    async def detect_feedback(
        request: Request, tenant: Name, project: Name, conversation_id: Id, caller: RequestCaller
    ) -> Detected:
        """Judge whether a new message accepts or rejects an earlier answer, and return advice for the next answer.

        If `strategies` is above 0, the response also lists strategies that worked for similar questions.
        """
        scope = f"{tenant}/{project}"
        body = await read_body(request, {JSON: lambda sent: NewMessage.model_validate_json(redact(sent, scope))})
        where = ConversationKey(tenant, project, conversation_id)
        previous = body.previous
        unseen = previous is None and wait_for_index is not None and not await wait_for_index(body.wait_seconds)
        message, position, names_writer = await _new_message(detection, where, body, caller.subject, clock.now())
        detected = await detection.detect(where, message, position, body.look_back, previous, names_writer=names_writer)
        agent = body.agent_id or (previous.agent_id if previous else None)
        worked = await detection.strategies_that_worked(
            where, body.text, detected, limit=body.strategies, intent=body.intent, agent_id=agent
        )
        return Detected.of(detected, worked, answer_not_seen=unseen)

    return router


def _add_turn_routes(router: Routes, turns: TurnSearch) -> None:
    @router.at("GET", METADATA, DETECT, refuses=READ | {404: "That turn is unknown."})
    async def metadata(tenant: Name, project: Name, conversation_id: Id, turn_id: Id) -> TurnMetadata:
        """Return a turn's metadata, including the detector's verdict and people's feedback."""
        turn = await turns.turn(TurnKey(tenant, project, conversation_id, turn_id))
        if turn is None:
            raise RequestRefused(404, "That turn is unknown.")
        return TurnMetadata.model_validate(turn)

    @router.at(
        "POST", SEARCH, DETECT, response_model=FoundStrategies, refuses=SENT, openapi_extra=taking(StrategySearch)
    )
    async def search(request: Request, tenant: Name, project: Name) -> FoundStrategies:
        """Return turns whose strategies are worth reusing.

        Accepted turns come first, then neutral ones, each group sorted by quality. Rejected turns are left out.
        """
        body = await read_body(request, {JSON: StrategySearch.model_validate_json})
        wanted = StrategyFilter(tenant, project, body.intent, body.user_id, body.text, body.agent_id)
        return FoundStrategies(
            items=[FoundStrategy.model_validate(turn) for turn in await turns.search(wanted, body.limit)]
        )


async def _new_message(
    detection: Detection, where: ConversationKey, body: NewMessage, caller: str, now: int
) -> tuple[Message, bytes | None, bool]:
    """Return the message of a request, its position if it was published already, and whether its writer is known.

    What the request says takes precedence over the published message.
    """
    published = None if body.message_id is None else await detection.find(MessageKey(*where, body.message_id))
    known = published.message if published else None
    thread = known.thread_id if known and body.thread_id is None else body.thread_id
    thread = None if body.thread_id == body.message_id else thread
    name = body.message_id or body.turn_id or UNNAMED
    sent_at = body.ts if body.ts is not None else known.at if known else now
    writer = body.user_id or (known.sender_id if known and known.role == "human" else None)
    reply_to = body.reply_to_message_id or (known.reply_to if known else None)
    turn_id = body.turn_id or name
    message = Message(name, turn_id, writer or caller, "human", None, body.text, sent_at, reply_to, thread)
    position = published.position if published and published.message.at == sent_at else None
    return message, position, writer is not None
