"""Definition of the reporting service: topics, routes, periodic tasks, retentions and erasures."""

from __future__ import annotations

from fastapi import APIRouter

from contracts.topics import ERASURE_REQUESTED, TRAINING_CHOSEN, consumed_by
from reporting.access.sign_in import sign_in_router
from reporting.alerts.evaluation import AlertEvaluator
from reporting.http.alerts import alerts_router
from reporting.http.conversations import conversations_router
from reporting.http.exports import exports_router
from reporting.http.figures import figures_router
from reporting.http.issues import issues_router
from reporting.http.reviews import audit_router
from reporting.http.webhooks import webhooks_router
from reporting.outbox.handlers import WebhookHandler
from reporting.pages.access import access_router
from reporting.pages.erasure import erasure_router
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.parts import ReportingParts, open_parts
from reporting.read_models.handlers import ErasureLogHandler, ProjectionHandler, TrainingChoiceHandler
from reporting.settings import ReportingSettings
from reporting.sql import SQL
from servicekit.definition import Keeps, ServiceDefinition
from servicekit.service import Service


def _connect(parts: ReportingParts, service: Service) -> None:
    projection = ProjectionHandler(parts.store, parts.settings.compared_attributes, parts.access_log)
    erase = parts.erasures.erase
    erasing = service.erasing(projection, parts.pool, erase, parts.receipts, is_guarded=True)
    logged = ErasureLogHandler(erasing, projection)  # records requests in the access log
    choices = TrainingChoiceHandler(parts.pool.ledger, projection)
    topics = {topic for topic in consumed_by("reporting") if topic != TRAINING_CHOSEN}
    # People look at what this group writes.
    service.consume("reporting", {logged: topics, choices: [TRAINING_CHOSEN]}, is_prompt=True)
    service.every("rollups", 5, parts.rollups.catch_up)
    service.every("issues", 10, parts.catch_up_with_issues, delay=10)
    if parts.mirror is not None:
        service.every("artifacts", 2, parts.mirror.catch_up)
    service.every("feedback metrics", 60, parts.feedback_metrics.update)
    service.every("alerts", 60, AlertEvaluator(parts.pool, parts.clock, service.lag).evaluate)
    service.every("deliveries", 1, parts.courier.deliver)
    if parts.settings.webhooks:
        webhooks = WebhookHandler(parts.endpoints, parts.deliveries, parts.clock)
        erasing = service.erasing(webhooks, parts.pool, erase, parts.receipts)
        topics = {topic for topic in consumed_by("webhooks") if topic != ERASURE_REQUESTED}
        service.consume("webhooks", {erasing: topics, webhooks: [ERASURE_REQUESTED]})


def _routers(parts: ReportingParts) -> list[APIRouter]:
    return [
        conversations_router(
            parts.reports, parts.clock, parts.settings.artifact_store_url, parts.access_log, current=parts.reads
        ),
        figures_router(parts.reports, parts.clock),
        exports_router(parts.reports, parts.access_log),
        audit_router(parts.reads, parts.clock),
        issues_router(parts.reads, parts.pool, parts.clock),
        webhooks_router(parts.endpoints, parts.deliveries, parts.clock),
        alerts_router(parts.alert_administration),
        pages_router(
            PageSources(
                parts.reports,
                parts.reads,
                parts.clock,
                parts.settings.trace_url_template,
                parts.alert_administration,
                parts.access_log,
            ),
            parts.pool,
        ),
        sign_in_router(),
        access_router(parts.keys, parts.reads, parts.access_log),
        erasure_router(parts.reads),
    ]


PROGRAM: ServiceDefinition[ReportingParts] = ServiceDefinition(
    "reporting",
    ReportingSettings,
    open_parts,
    connects=_connect,
    serves=_routers,
    keeps=[
        Keeps("messages", "message_days", "occurred_at", "microseconds", by_project="project_message_days"),
        Keeps("exchanges", "message_days", "occurred_at", "microseconds", by_project="project_message_days"),
        Keeps("feedbacks", "feedback_days", "occurred_at", "microseconds"),
        # The retention of feedback also removes these rows, because deleted feedback counts as a changed rejection.
        Keeps("issue_turns", "message_days", "asked_at", "microseconds", by_project="project_message_days"),
        Keeps("sessions", "feedback_days", "recorded_at", "microseconds"),
        Keeps("deliveries", "webhook_days", "created_at", "microseconds", "r.receiver <> ''"),
        Keeps("alerts", "alert_days", "over_at", "microseconds"),
        Keeps("access_log", "access_log_days", "at", "microseconds"),
        # Rows of `forgotten` keep older announcements from restoring erased feedback. They are not needed after the
        # topics' retention has removed these announcements. Revisions are log times in milliseconds.
        Keeps("forgotten", "tombstone_days", "revision", "milliseconds"),
    ],
    holds={
        "messages": SQL.held_messages,
        "feedbacks": SQL.held_feedbacks,
        "rollups": SQL.held_rollups,
        "issue_turns": SQL.held_issue_turns,
        "deliveries": SQL.held_deliveries,
        "hosted_artifacts": SQL.held_hosted_artifacts,
        "training_choices": SQL.held_training_choices,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "training_choices": "so that the choice covers later feedback",
        "erasures": "so that a replay restores nothing",
    },
)
"""The reporting service, which can be started alone or with other services."""
