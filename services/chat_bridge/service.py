"""The bridge's composition root."""

from __future__ import annotations

from pathlib import Path

from chat_bridge import api_refused
from chat_bridge.api_refused import refused_router
from chat_bridge.asking import AskAgain
from chat_bridge.erasure import ChatBridgeErasures
from chat_bridge.handlers import ChatHandler
from chat_bridge.intake import Intake
from chat_bridge.parking import Parking
from chat_bridge.refused_store import RefusedEvents
from chat_bridge.retention import expiries
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.source_http import HttpMessageSource
from chat_bridge.sources import registry
from chat_bridge.store_postgres import PostgresStore
from contracts.instants import DAY
from contracts.scopes import READ
from servicekit.launcher import Program
from servicekit.log.erasing import ErasingHandler
from servicekit.log.journal import Journal, JournalingHandler, JournalReader
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.web.application import Surface
from servicekit.web.journal import WHERE, WhereLookup, where_router
from servicekit.web.log_writer import LogWriter
from servicekit.web.permissions import needs

MIGRATIONS = Path(__file__).parent / "migrations"
WHERE_CHAT = WHERE + "chat"


async def build(settings: ChatBridgeSettings, context: ServiceContext) -> Service:
    """Build the service, connected to its database and ready to start."""
    service = Service("chat_bridge", context)
    pool = await service.open_database(settings.database_url, MIGRATIONS)
    store = PostgresStore(pool)
    refused = RefusedEvents(pool, context.clock)
    journal = Journal(pool)
    parking = Parking(
        store,
        service.producer,
        context.clock,
        int(settings.parked_days * DAY),
        context.observers,
        refused.note_set_aside,
        journal,
    )
    source = _open_source(settings, service)
    events = ChatHandler(
        store, service.producer, parking, context.clock, settings.parked_limit, source, refused.note_set_aside
    )
    erasures = ChatBridgeErasures(pool, store)
    erasing = ErasingHandler(events, erasures, service.producer, "chat_bridge")
    service.consume("chat_bridge", JournalingHandler(erasing, journal))
    service.expire(pool, expiries(settings))
    service.every(Periodic("sweep", settings.sweep_seconds, parking.sweep))
    if source is not None:
        asking = AskAgain(store, source)
        service.every(Periodic("ask again", settings.message_source_again_seconds, asking.ask))
    service.facts["parked"] = store.parked
    log = LogWriter(service.producer, room=context.room, seconds=settings.log_seconds)
    intake = Intake(log, context.clock, context.judge_at, refused.note)
    lookup = service.lookups["where chat"] = WhereLookup(JournalReader(pool))
    service.routers += [
        *registry.routers(intake, registry.open_sources(settings)),
        refused_router(refused),
        where_router(WHERE_CHAT, lookup, "ingest"),
    ]
    return service


def _open_source(settings: ChatBridgeSettings, service: Service) -> HttpMessageSource | None:
    if settings.message_source_url is None:
        return None
    token = settings.message_source_token
    source = HttpMessageSource(
        settings.message_source_url,
        service.context.clock,
        token=token.get_secret_value() if token else None,
        seconds=settings.message_source_seconds,
    )
    service.resources.push_async_callback(source.close)
    return source


SURFACE = Surface(
    {**registry.PERMISSIONS, **api_refused.PERMISSIONS, ("GET", WHERE_CHAT): needs(READ)}, registry.BODY_LIMITS
)
PROGRAM = Program("chat_bridge", ChatBridgeSettings, build, SURFACE)
"""The service as its own process."""
