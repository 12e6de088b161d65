"""Composition root of the reporting service."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import asyncpg

from reporting import api, api_audit, api_exports, api_figures, api_webhooks, api_where
from reporting.api import conversations_router
from reporting.api_audit import audit_router
from reporting.api_exports import exports_router
from reporting.api_figures import figures_router
from reporting.api_webhooks import webhooks_router
from reporting.erasure import ReportingErasures
from reporting.handlers import ProjectionHandler
from reporting.mirror.adopting import set_store
from reporting.mirror.mirror import ArtifactReplicator
from reporting.mirror.object_store import ObjectStore
from reporting.mirror.receipts import HeldReceipts
from reporting.pages import routes as pages
from reporting.pages.routes import Health, Where, pages_router
from reporting.queries.counts import totals
from reporting.retention import expiries
from reporting.rollups import Rollups
from reporting.settings import ReportingSettings
from reporting.store_postgres import PostgresReadModels
from reporting.webhooks.courier import Courier
from reporting.webhooks.endpoints import read_endpoints
from reporting.webhooks.handlers import ErasureRequestHandler, WebhookHandler
from reporting.webhooks.store import Deliveries
from servicekit.launcher import Program
from servicekit.log.erasing import ErasingHandler
from servicekit.log.messages import Producer
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.web.application import Surface
from servicekit.web.permissions import merged

MIGRATIONS = Path(__file__).parent / "migrations"
ROLLUP_SECONDS = 5.0
"""Interval between updates of the roll-ups."""
MIRROR_SECONDS = 2.0
"""Interval between replications of changed artifacts to the object store."""
WEBHOOK_SECONDS = 1.0
"""Interval between polls for due deliveries."""


async def build(
    settings: ReportingSettings, context: ServiceContext, health: Health | None = None, where: Where | None = None
) -> Service:
    """Build the service, ready to start; its database is open and fully migrated.

    `health` supplies the dashboard's panel on the whole platform; without it the panel says that it has no data.
    `where` follows events through the other services of the process.
    """
    service = Service("reporting", context)
    pool = await service.open_database(settings.database_url, MIGRATIONS, size=settings.pool_size)
    service.expire(pool, expiries(settings))
    store = PostgresReadModels(pool)
    await store.adopt()
    rollups = Rollups(pool, context.clock)
    service.every(Periodic("rollups", ROLLUP_SECONDS, rollups.catch_up))
    service.watched.append(lambda: rollups.warnings)
    erasures = ReportingErasures(pool)
    receipts = await _mirroring(settings, service, pool)
    service.consume("reporting", ErasingHandler(ProjectionHandler(store), erasures, receipts, "reporting"))
    deliveries = Deliveries(pool)
    endpoints = read_endpoints(settings.webhooks) if settings.webhooks else []
    if endpoints:
        events = WebhookHandler(endpoints, deliveries, context.clock)
        erasing = ErasingHandler(events, erasures, service.producer, "reporting")
        service.consume("webhooks", ErasureRequestHandler(erasing, events))
    for endpoint in endpoints:
        courier = Courier(endpoint, deliveries, context.clock)
        service.resources.push_async_callback(courier.close)
        service.every(Periodic(f"webhook {endpoint.name}", WEBHOOK_SECONDS, courier.deliver))
    # A generic plan may cost a hundred times as much: a common tag is best found by time, a rare one by the tag.
    reads = await service.open_reads(settings, MIGRATIONS, plan_anew=True)
    service.routers.append(conversations_router(reads, context.clock, settings.artifact_store_url))
    service.lookups["where reports"] = partial(api_where.counted, reads)
    service.routers.append(api_where.where_router(reads))
    service.routers.append(figures_router(reads, context.clock))
    service.routers.append(exports_router(reads))
    service.routers.append(audit_router(reads, pool, context.clock))
    service.routers.append(webhooks_router(endpoints, deliveries, context.clock))
    service.routers.append(pages_router(reads, context.clock, health, settings.trace_url_template, where))
    service.facts["report"] = partial(totals, pool)
    return service


async def _mirroring(settings: ReportingSettings, service: Service, pool: asyncpg.Pool) -> Producer:
    """Set up replication of artifacts, if the settings name a store.

    Returns the producer of erasure receipts. With a store, receipts are held until the store has deleted the objects.
    """
    url, turn_logs = settings.artifact_store_url, settings.artifact_turn_logs
    objects = None if url is None else ObjectStore(url)
    await set_store(pool, url, turn_logs=turn_logs)
    if objects is None:
        return service.producer
    receipts = HeldReceipts(pool, service.producer)
    mirror = ArtifactReplicator(pool, objects, receipts, service.context.clock, turn_logs=turn_logs)
    service.every(Periodic("artifacts", MIRROR_SECONDS, mirror.catch_up))
    service.watched.append(lambda: mirror.warnings)
    return receipts


SURFACE = Surface(
    merged(
        api.PERMISSIONS,
        api_audit.PERMISSIONS,
        api_figures.PERMISSIONS,
        api_exports.PERMISSIONS,
        api_webhooks.PERMISSIONS,
        api_where.PERMISSIONS,
        pages.PERMISSIONS,
    ),
    refused_pages=pages.REFUSED_PAGES,
)
PROGRAM = Program("reporting", ReportingSettings, build, SURFACE)
"""Program that runs the service in its own process."""
