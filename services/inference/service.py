"""Definition of the inference service: topics, routes, scheduled jobs, retention and erasure."""

from __future__ import annotations

from inference.detector_group import CHECK_SECONDS
from inference.parts import InferenceParts, open_parts
from inference.settings import InferenceSettings
from inference.sql import SQL
from servicekit import Every, Keeps, Reads, ServiceDefinition

# A conversation expires as a whole, when its last message is too old. `evaluation` counts the messages of a
# conversation, and it must not decrease while any of them may be judged again.
QUIET = (
    "not exists (select from messages n where n.conversation_id = r.conversation_id and n.tenant = r.tenant "
    "and n.project = r.project and n.stored_at >= {moment})"
)
ENDED = "after the conversation's last message"
PROGRAM: ServiceDefinition[InferenceParts] = ServiceDefinition(
    "inference",
    InferenceSettings,
    open_parts,
    reads=[
        Reads("inference", InferenceParts.conversation_handler, is_guarded=True),
        Reads("inference_status", InferenceParts.user_reaction_handler),
    ],
    serves=[
        InferenceParts.routes,
    ],
    every=[Every("detectors", CHECK_SECONDS, lambda parts: parts.group.check, delay=CHECK_SECONDS)],
    keeps=[
        Keeps("messages", "conversation_days", "stored_at", only=QUIET, which=ENDED),
        Keeps("verdicts", "turn_days", "stored_at", only=QUIET, which=ENDED),
        Keeps("turns", "turn_days", "stored_at", only=QUIET, which=ENDED),
        Keeps("gate_answers", "gate_answer_days", "settled_at"),
    ],
    holds={
        "messages": SQL.held_messages,
        "turns": SQL.held_turns,
        "verdicts": SQL.held_verdicts,
        "user_reactions": SQL.held_user_reactions,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "verdicts": "numbers without text and person",
        "erasures": "so that a replay restores nothing",
    },
    erases="texts and ids of messages, questions with their vectors, and reactions",
    erase=lambda parts: parts.erasures.erase,
)
"""Definition of the service, which can run in its own process or in one process with the other services."""
