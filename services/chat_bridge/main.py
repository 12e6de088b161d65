"""The bridge's composition root."""

from __future__ import annotations

from pathlib import Path

from chat_bridge.consumer import ChatEvents
from chat_bridge.parking import Parking
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.store_postgres import PostgresStore
from contracts.instants import DAY
from servicekit.database import open_pool
from servicekit.service import Periodic, Service, Surroundings


async def build(settings: ChatBridgeSettings, surroundings: Surroundings) -> Service:
    """The service, connected to its database and ready to start."""
    service = Service("chat_bridge", surroundings)
    pool = await open_pool(
        settings.database_url, "chat_bridge", Path(__file__).parent / "migrations", say=surroundings.say
    )
    service.resources.push_async_callback(pool.close)
    store = PostgresStore(pool)
    parking = Parking(
        store, service.producer, surroundings.clock, int(settings.parked_days * DAY), surroundings.observers
    )
    service.consume(
        "chat_bridge", ChatEvents(store, service.producer, parking, surroundings.clock, settings.parked_limit)
    )
    service.every(Periodic("sweep", settings.sweep_seconds, parking.sweep))
    service.facts["parked"] = store.parked
    return service
