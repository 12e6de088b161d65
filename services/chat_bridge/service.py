"""Definition of the bridge: topics, routes, schedules, retention and erasure."""

from __future__ import annotations

from functools import partial

from chat_bridge.api import ingest_router
from chat_bridge.api_refused import refused_router
from chat_bridge.parts import ChatBridgeParts, open_parts
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.registry import SOURCES
from chat_bridge.sql import SQL
from servicekit import Every, Keeps, Reads, ServiceDefinition

PROGRAM: ServiceDefinition[ChatBridgeParts] = ServiceDefinition(
    "chat_bridge",
    ChatBridgeSettings,
    open_parts,
    reads=[Reads("chat_bridge", ChatBridgeParts.chat_handler, is_guarded=True)],
    serves=[
        lambda parts: ingest_router(parts.intake),
        *(partial(ChatBridgeParts.source_routes, kind=kind) for kind in SOURCES),
        lambda parts: refused_router(parts.refused),
    ],
    every=[
        Every("sweep", "sweep_seconds", lambda parts: parts.parking.sweep),
    ],
    keeps=[
        # A reaction to an expired message finds no original. Parked events expire in the sweep (`parking.py`).
        Keeps("messages", "message_days", "stored_at"),
        Keeps("refused", "refused_days", "refused_at", "microseconds"),
    ],
    holds={
        "parked": SQL.held_parked,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "erasures": "so that a replay restores nothing",
    },
    erases="parked events",
    erase=ChatBridgeParts.erase,
)
"""Definition of the service, which runs in its own process or in one process with the other services."""
