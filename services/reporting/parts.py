"""Composition root of the reporting service, which opens the resources that `service.py` uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import asyncpg

from reporting.access.keys import ApiKeys
from reporting.access.log import AccessLog
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.sending import AlertSender
from reporting.figures.gauges import FeedbackMetrics
from reporting.issues.job import IssueJob, issue_encoder
from reporting.issues.process import run_process
from reporting.mirror.mirror import ArtifactReplicator
from reporting.mirror.object_store import ObjectStore
from reporting.mirror.store_setting import set_store
from reporting.outbox.courier import Courier
from reporting.outbox.endpoints import WebhookEndpoint, read_endpoints
from reporting.outbox.payload import OutboxMessage
from reporting.outbox.receipts import HeldReceipts
from reporting.outbox.sending import AttemptResult, CheckedHttp, WebhookSender
from reporting.outbox.store import Deliveries, Receiver
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.settings import ReportingSettings
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.db.database import Database
from servicekit.log.records import Producer
from servicekit.service import Service

SCHEMA = SQL.schema


@dataclass(frozen=True, slots=True)
class ReportingParts:
    """Open resources of the reporting service.

    Attributes:
        reads: Connection pool for HTTP reads.
        reports: Connection pool for reads that may be a few seconds stale. It uses the replica if one is configured;
            otherwise it is the same pool as `reads`.
        mirror: Replicator of artifacts, or None if there is no object store.
    """

    settings: ReportingSettings
    service: Service
    pool: Database
    reads: asyncpg.Pool
    reports: asyncpg.Pool
    store: PostgresReadModels
    erasures: ReportingErasures
    rollups: Rollups
    issues: IssueJob
    mirror: ArtifactReplicator | None
    receipts: Producer
    """Producer of erasure receipts. If there is an object store, it holds receipts until the store has deleted the
    objects."""
    deliveries: Deliveries
    endpoints: Sequence[WebhookEndpoint]
    courier: Courier
    alert_administration: AlertAdministration
    feedback_metrics: FeedbackMetrics
    keys: ApiKeys

    @property
    def clock(self) -> Clock:
        return self.service.context.clock

    @property
    def access_log(self) -> AccessLog:
        return AccessLog(self.pool, self.service.context.clock)

    async def catch_up_with_issues(self) -> None:
        """Do the work of the issue job. Work that needs the sentence encoder is done in a child process."""
        if await self.issues.prepare():
            await run_process(self.settings.database_url, self.settings.sentence_encoder)


async def open_parts(settings: ReportingSettings, service: Service) -> ReportingParts:
    """Open the database pools, the object store and the clients of the service.

    Raises StartError if one of them cannot be opened.
    """
    endpoints = read_endpoints(settings.webhooks) if settings.webhooks else []
    pool = await service.open_database(settings.database_url, SCHEMA, size=settings.pool_size)
    # A generic plan may cost a hundred times as much: a frequent tag needs the index by time, a rare tag its own index.
    reads = await service.open_reads(settings, SCHEMA, plan="custom")
    reports = reads
    if settings.read_database_url:
        reports = await service.open_reads(settings, SCHEMA, plan="custom", replica=settings.read_database_url)
    store = PostgresReadModels(pool)
    await store.adopt()
    rollups = Rollups(pool, service.context.clock)
    mirror, receipts = await _mirror(settings, service, pool)
    for warned in (rollups, mirror):
        if warned is not None:
            service.watched.append(partial(getattr, warned, "warnings"))
    clock, private = service.context.clock, settings.private_channels
    deliveries, http = Deliveries(pool), CheckedHttp()
    alert_sender = AlertSender(pool, http, clock, private=private)
    courier = _courier(service, deliveries, endpoints, alert_sender, http)
    keys = ApiKeys(pool, service.context.clock)
    service.authenticators.append(keys)
    return ReportingParts(
        settings=settings,
        service=service,
        pool=pool,
        reads=reads,
        reports=reports,
        store=store,
        erasures=ReportingErasures(pool),
        rollups=rollups,
        issues=IssueJob(pool, service.context.clock, partial(issue_encoder, settings.sentence_encoder)),
        mirror=mirror,
        receipts=receipts,
        deliveries=deliveries,
        endpoints=endpoints,
        courier=courier,
        alert_administration=AlertAdministration(reads, pool, alert_sender, clock, private=private),
        feedback_metrics=FeedbackMetrics(pool, service.context.clock),
        keys=keys,
    )


def _courier(
    service: Service,
    deliveries: Deliveries,
    endpoints: Sequence[WebhookEndpoint],
    alert_sender: AlertSender,
    http: CheckedHttp,
) -> Courier:
    """Return the courier of all webhook endpoints and alert channels."""
    clock = service.context.clock
    webhook_sender = WebhookSender(endpoints, http, clock)

    async def send(delivery: OutboxMessage) -> AttemptResult:
        return await (alert_sender if delivery.project else webhook_sender).send(delivery)

    receivers = [Receiver(endpoint.name, endpoint.tenant) for endpoint in endpoints]
    courier = Courier(deliveries, receivers, send, clock)
    service.resources.push_async_callback(http.close)
    service.resources.push_async_callback(courier.close)
    return courier


async def _mirror(
    settings: ReportingSettings, service: Service, pool: asyncpg.Pool
) -> tuple[ArtifactReplicator | None, Producer]:
    """Return the artifact replicator (None if there is no object store) and the producer of erasure receipts."""
    url, turn_logs = settings.artifact_store_url, settings.artifact_turn_logs
    objects = None if url is None else ObjectStore(url)
    await set_store(pool, url, turn_logs=turn_logs)
    if objects is None:
        return None, service.producer
    receipts = HeldReceipts(pool, service.producer, service.context.clock)
    return ArtifactReplicator(pool, objects, receipts, service.context.clock, turn_logs=turn_logs), receipts
