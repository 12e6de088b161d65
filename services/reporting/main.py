"""Composition root of the reporting service."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from reporting.api import conversations_router
from reporting.api_figures import figures_router
from reporting.consumer import Projector
from reporting.pages.routes import Health, pages_router
from reporting.queries.counts import totals
from reporting.settings import ReportingSettings
from reporting.store_postgres import PostgresStore
from servicekit.database import open_pool
from servicekit.service import Service, Surroundings

MIGRATIONS = Path(__file__).parent / "migrations"


async def build(settings: ReportingSettings, surroundings: Surroundings, health: Health | None = None) -> Service:
    """The service, ready to start; its database is open and at the newest migration.

    `health` gives the dashboard what it shows of the whole platform; without it that panel says so.
    """
    pool = await open_pool(
        settings.database_url, "reporting", MIGRATIONS, size=settings.pool_size, say=surroundings.say
    )
    service = Service("reporting", surroundings)
    service.resources.push_async_callback(pool.close)
    store = PostgresStore(pool)
    await store.adopt()
    service.consume("reporting", Projector(store))
    service.routers.append(conversations_router(pool, surroundings.clock, settings.hosted_uri_base))
    service.routers.append(figures_router(pool, surroundings.clock))
    service.routers.append(pages_router(pool, surroundings.clock, health))
    service.facts["report"] = partial(totals, pool)
    return service
