"""Resources of the bridge: its database, and the objects built from them for `service.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

from chat_bridge.handlers import ChatHandler
from chat_bridge.ingest import Intake
from chat_bridge.parking import Parking
from chat_bridge.refused_store import RefusedEvents
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.registry import open_sources
from chat_bridge.sources.source import Source
from chat_bridge.sql import SQL
from chat_bridge.store import MessageStore
from contracts.instants import DAY
from servicekit.service import Service

SCHEMA = SQL.schema


@dataclass(frozen=True)
class ChatBridgeParts:
    """Open resources of the bridge."""

    settings: ChatBridgeSettings
    service: Service
    pool: asyncpg.Pool
    store: MessageStore
    refused: RefusedEvents
    sources: Mapping[str, Source]
    intake: Intake
    parking: Parking
    events: ChatHandler


async def open_parts(settings: ChatBridgeSettings, service: Service) -> ChatBridgeParts:
    """Open the bridge's resources, including its database.

    Raises:
        StartError: A resource cannot be opened with these settings.
    """
    context = service.context
    pool = await service.open_database(settings.database_url, SCHEMA)
    store, refused = MessageStore(pool, settings.parked_bytes), RefusedEvents(pool, context.clock)
    log = service.request_producer(settings.log_seconds)
    service.note_dead_letters = refused.note_dead_letters
    late, wait = service.late_outcomes("chat_bridge"), int(settings.parked_days * DAY)
    parking = Parking(store, service.producer, context.clock, wait, late)
    return ChatBridgeParts(
        settings=settings,
        service=service,
        pool=pool,
        store=store,
        refused=refused,
        sources=open_sources(settings),
        intake=Intake(log, context.clock, context.reference_time, pool.ledger.erased_at, refused.note),
        parking=parking,
        events=ChatHandler(store, service.producer, parking, context.clock),
    )
