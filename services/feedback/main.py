"""The feedback service's composition root."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from feedback.consumer import FeedbackEvents
from feedback.settings import FeedbackSettings
from feedback.store import Store
from feedback.store_memory import MemoryStore
from feedback.store_postgres import PostgresStore
from servicekit.database import open_pool
from servicekit.failures import StartError
from servicekit.service import Service, Surroundings

_MIGRATIONS = Path(__file__).parent / "migrations"


async def build(settings: FeedbackSettings, surroundings: Surroundings) -> Service:
    """The service, connected to its store and ready to start."""
    service = Service("feedback", surroundings)
    store = await open_store(settings.store_url, service)
    service.consume("feedback", FeedbackEvents(store, service.producer, settings.rewards))
    service.facts["totals"] = store.totals
    return service


async def open_store(url: str, service: Service) -> Store:
    """The store that `url` names by its scheme. Raises StartError for an unknown one."""
    match urlsplit(url).scheme:
        case "postgresql" | "postgres":
            pool = await open_pool(url, "feedback", _MIGRATIONS, say=service.surroundings.say)
            service.resources.push_async_callback(pool.close)
            return PostgresStore(pool)
        case "memory":
            return MemoryStore()
        case scheme:
            raise StartError(f"FEEDBACK_STORE_URL must start with postgresql:// or memory://, not {scheme}://.")
