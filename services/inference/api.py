"""Inference's HTTP: what is known of a turn, which strategies worked, what a new message says of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from contracts.base import Id, Scope
from inference.api_answers import Detected, FoundStrategies, FoundStrategy, TurnMetadata
from inference.api_bodies import Body, Malformed, NewMessage, StrategySearch, read_body
from inference.detection import detect
from inference.detector import Detector
from inference.llm_gate import LlmGate
from inference.model import Message
from inference.store import ConversationKey, Store
from inference.turn_index import TurnIndex, Wanted
from inference.turns import TurnKey
from servicekit.auth import ON_BEHALF, Caller, caller_in
from servicekit.clock import Clock
from servicekit.failures import is_transient
from servicekit.logging import logger
from servicekit.refusals import RETRY_SECONDS, invalid, refusal, require_media_type, told

PROJECT = "/conversations/{tenant}/{project}"
CONVERSATION = PROJECT + "/{conversation_id:path}"
JSON = "application/json"
UNNAMED = "new message"
"""The id of a message that comes without one."""
TenantPath = Annotated[Scope, Path(examples=["acme"])]
ProjectPath = Annotated[Scope, Path(examples=["support"])]
ConversationPath = Annotated[Id, Path(examples=["c-42"])]
TurnPath = Annotated[Id, Path(examples=["t-7"])]

READ = (
    told(401, "No valid access token.")
    | told(403, "The token does not reach that project, or may not speak for others.")
    | told(422, "The path or the body does not read as it must.")
    | told(503, "The database does not answer; see Retry-After.")
)
SENT = READ | told(413, "The body is too large.") | told(415, "The body is not sent as JSON.")
EXAMPLES: dict[type[Body], dict[str, Any]] = {
    NewMessage: {"text": "No, that's wrong: I meant the museum.", "turn_id": "t-8", "ts": "2026-11-20T09:30:00Z"},
    StrategySearch: {"intent": "opening_hours", "text": "When can I visit on Sundays?", "limit": 5},
}
log = logger("inference")


def taking(model: type[Body]) -> dict[str, Any]:
    """A body for a route's OpenAPI document."""
    content = {JSON: {"schema": model.model_json_schema(by_alias=False), "example": EXAMPLES[model]}}
    return {"requestBody": {"required": True, "content": content}}


def inference_router(
    store: Store, turns: TurnIndex, detector: Detector, clock: Clock, gate: LlmGate | None = None
) -> APIRouter:
    """The routes; none of them publishes anything, or keeps more than what a language model answered."""
    router = APIRouter(dependencies=[Depends(caller_in)], tags=["inference"])

    @router.get(
        CONVERSATION + "/turns/{turn_id:path}/metadata", responses=READ | told(404, "Nothing is known of that turn.")
    )
    async def metadata(
        tenant: TenantPath, project: ProjectPath, conversation_id: ConversationPath, turn_id: TurnPath
    ) -> TurnMetadata:
        """What a turn was, and what machine and people make of it."""
        with answering():
            turn = await turns.find(TurnKey(tenant, project, conversation_id, turn_id))
        if turn is None:
            raise refusal(404, "Nothing is known of that turn.")
        return TurnMetadata.of(turn)

    @router.post(
        PROJECT + "/strategies/search",
        response_model=FoundStrategies,
        responses=SENT,
        openapi_extra=taking(StrategySearch),
    )
    async def search(request: Request, tenant: TenantPath, project: ProjectPath) -> FoundStrategies | Response:
        """The turns to learn from: none that was rejected, accepted ones first, the best quality first."""
        require_media_type(request, [JSON])
        try:
            body = read_body(StrategySearch, await request.body())
        except Malformed as error:
            return invalid(error.faults)
        with answering():
            found = await turns.search(Wanted(tenant, project, body.intent, body.user_id, body.text), body.limit)
        return FoundStrategies(items=[FoundStrategy.of(turn) for turn in found])

    @router.post(CONVERSATION + "/detect", response_model=Detected, responses=SENT, openapi_extra=taking(NewMessage))
    async def detect_feedback(
        request: Request,
        tenant: TenantPath,
        project: ProjectPath,
        conversation_id: ConversationPath,
        caller: Annotated[Caller, Depends(caller_in)],
    ) -> Detected | Response:
        """What a new message says of the answers before it, and what the planner of the next answer should know."""
        require_media_type(request, [JSON])
        try:
            body = read_body(NewMessage, await request.body())
        except Malformed as error:
            return invalid(error.faults)
        if body.user_id not in (None, caller.subject) and ON_BEHALF not in caller.scopes:
            raise refusal(403, "This token may not ask on behalf of others.")
        name = body.message_id or body.turn_id or UNNAMED
        at = clock.now() if body.ts is None else body.ts
        author = body.user_id or caller.subject
        message = Message(name, body.turn_id or name, author, "human", None, body.text, at)
        where = ConversationKey(tenant, project, conversation_id)
        with answering():
            found = await detect(store, turns, detector, where, message, gate, body.look_back)
        return Detected.of(found)

    return router


@contextmanager
def answering() -> Iterator[None]:
    """Turns a database that does not answer into 503."""
    try:
        yield
    except Exception as error:
        if not is_transient(error):
            raise
        log.warning("database_unavailable", error=type(error).__name__)
        raise refusal(503, "The database does not answer; send this again later.", RETRY_SECONDS) from None
