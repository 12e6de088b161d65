"""Definition of the bridge: topics, routes, schedules, retention and erasure."""

from __future__ import annotations

from fastapi import APIRouter

from chat_bridge.api import ingest_router
from chat_bridge.parts import ChatBridgeParts, open_parts
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.api import source_router
from chat_bridge.sql import SQL
from servicekit.definition import Keeps, ServiceDefinition
from servicekit.service import Service


def _connect(parts: ChatBridgeParts, service: Service) -> None:
    service.consume("chat_bridge", service.erasing(parts.events, parts.pool, parts.store.erase, is_guarded=True))
    service.every("sweep", parts.settings.sweep_seconds, parts.parking.sweep)


def _routers(parts: ChatBridgeParts) -> list[APIRouter]:
    return [ingest_router(parts.intake, parts.refused), source_router(parts.sources, parts.intake)]


PROGRAM: ServiceDefinition[ChatBridgeParts] = ServiceDefinition(
    "chat_bridge",
    ChatBridgeSettings,
    open_parts,
    connects=_connect,
    serves=_routers,
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
)
"""Definition of the service, which runs in its own process or in one process with the other services."""
