"""Definition of the inference service: topics, routes, scheduled jobs, retention and erasure."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter

from inference.api import inference_router
from inference.erasure import erase
from inference.parts import InferenceParts, open_parts
from inference.settings import InferenceSettings
from inference.sql import SQL
from servicekit.definition import Keeps, ServiceDefinition
from servicekit.service import Service

# A conversation expires as a whole, when its last message is too old. `evaluation` counts the messages of a
# conversation, and it must not decrease while any of them may be judged again.
QUIET = (
    "not exists (select from messages n where n.conversation_id = r.conversation_id and n.tenant = r.tenant "
    "and n.project = r.project and n.stored_at >= {moment})"
)


def _connect(parts: InferenceParts, service: Service) -> None:
    erases = partial(erase, parts.pool, parts.turns, service.pseudonym_of)
    conversations = service.erasing(parts.conversations, parts.pool, erases, is_guarded=True)
    service.consume("inference", conversations)
    service.consume("inference_status", parts.reactions)


def _routers(parts: InferenceParts) -> list[APIRouter]:
    service = parts.service
    wait = partial(service.progress("inference").wait_until_caught_up, parts.settings.index_seconds)
    return [inference_router(parts.detection, parts.search, service.context.clock, wait, service.redact)]


PROGRAM: ServiceDefinition[InferenceParts] = ServiceDefinition(
    "inference",
    InferenceSettings,
    open_parts,
    connects=_connect,
    serves=_routers,
    keeps=[
        Keeps("messages", "conversation_days", "stored_at", only=QUIET),
        Keeps("verdicts", "turn_days", "stored_at", only=QUIET),
        Keeps("turns", "turn_days", "stored_at", only=QUIET),
        Keeps("gate_answers", "gate_answer_days", "settled_at"),
    ],
    holds={
        "messages": SQL.held_messages,
        "turns": SQL.held_turns,
        "verdicts": SQL.held_verdicts,
        "user_reactions": SQL.held_user_reactions,
        "erasures": SQL.held_erasures,
    },
    leaves={"verdicts": "numbers without text and person", "erasures": "so that a replay restores nothing"},
)
"""Definition of the service, which can run in its own process or in one process with the other services."""
