"""Definition of the bridge: topics, routes, schedules, retention and erasure."""

from __future__ import annotations

from functools import partial

from chat_bridge.api import EVENTS, INGEST_LIMIT, ingest_router
from chat_bridge.api_refused import REFUSED, refused_router
from chat_bridge.parts import ChatBridgeParts, open_parts
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.api import SOURCE_LIMIT
from chat_bridge.sources.registry import SOURCES
from chat_bridge.sql import SQL
from contracts.scopes import INGEST
from servicekit import Every, Keeps, Reads, Serves, ServiceDefinition

PROGRAM: ServiceDefinition[ChatBridgeParts] = ServiceDefinition(
    "chat_bridge",
    ChatBridgeSettings,
    open_parts,
    reads=[Reads("chat_bridge", ChatBridgeParts.chat_handler, is_guarded=True)],
    serves=[
        Serves(lambda parts: ingest_router(parts.intake), {("POST", EVENTS): INGEST}),
        # Routes of sources need no token, because platforms sign their requests.
        *(
            Serves(partial(ChatBridgeParts.source_routes, kind=kind), {("POST", kind.path): "no token"})
            for kind in SOURCES
        ),
        Serves(lambda parts: refused_router(parts.refused), {("GET", REFUSED): INGEST}),
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
    body_limits={"/ingest/": INGEST_LIMIT, "/sources/": SOURCE_LIMIT},
)
"""Definition of the service, which runs in its own process or in one process with the other services."""
