"""Definition of the reporting service: topics, routes, periodic tasks, retentions and erasures."""

from __future__ import annotations

from reporting.access.own_caller import callers_router
from reporting.access.sign_in import sign_in_router
from reporting.http import routes as api
from reporting.outbox.handlers import ErasureRequestHandler
from reporting.pages.access import access_router
from reporting.pages.erasure import erasure_router
from reporting.pages.routes import pages_router
from reporting.parts import ReportingParts, check_settings, open_parts
from reporting.read_models.erasure_log import ErasureLogHandler
from reporting.settings import ReportingSettings
from reporting.sql import SQL
from servicekit import Every, Keeps, Reads, ServiceDefinition

PROGRAM: ServiceDefinition[ReportingParts] = ServiceDefinition(
    "reporting",
    ReportingSettings,
    open_parts,
    reads=[
        Reads(
            "reporting",
            ReportingParts.projection_handler,
            around=ErasureLogHandler,  # record erasure requests in the access log
            is_guarded=True,
        ),
        Reads(
            *("webhooks", ReportingParts.webhook_handler),
            # Send erasure requests to receivers too, because they may have stored the person's text.
            around=ErasureRequestHandler,
            if_set="webhooks",
        ),
    ],
    serves=[
        lambda parts: api.conversations_router(
            parts.reports, parts.clock, parts.settings.artifact_store_url, parts.access_log, current=parts.reads
        ),
        lambda parts: api.figures_router(parts.reports, parts.clock),
        lambda parts: api.exports_router(parts.reports, parts.access_log),
        lambda parts: api.audit_router(parts.reads, parts.pool, parts.clock),
        lambda parts: api.issues_router(parts.reads, parts.pool, parts.clock),
        lambda parts: api.webhooks_router(parts.endpoints, parts.deliveries, parts.clock),
        lambda parts: api.alerts_router(parts.alert_administration),
        lambda parts: pages_router(
            parts.reports,
            parts.clock,
            parts.settings.trace_url_template,
            parts.alert_administration,
            parts.access_log,
            current=parts.reads,
        ),
        lambda _: callers_router(),
        lambda _: sign_in_router(),
        lambda parts: access_router(parts.keys, parts.reads, parts.access_log),
        lambda parts: erasure_router(parts.reads),
    ],
    every=[
        Every("rollups", 5, lambda parts: parts.rollups.catch_up),
        Every("issues", 10, lambda parts: parts.catch_up_with_issues, delay=10),
        Every("artifacts", 2, ReportingParts.replicate_artifacts, if_set="artifact_store_url"),
        Every("feedback metrics", 60, lambda parts: parts.feedback_metrics.update),
        Every("alerts", 60, ReportingParts.evaluate_alerts),
        Every("alert messages", 2, lambda parts: parts.alert_courier.deliver),
        Every("webhook", 1, ReportingParts.couriers, if_set="webhooks"),
    ],
    keeps=[
        Keeps("messages", "message_days", "occurred_at", "microseconds"),
        Keeps("exchanges", "message_days", "occurred_at", "microseconds"),
        Keeps("feedbacks", "feedback_days", "occurred_at", "microseconds"),
        Keeps("replies", "feedback_days", "occurred_at", "microseconds"),
        # The retention of feedback also removes these rows, because deleted feedback counts as a changed rejection.
        Keeps("issue_turns", "message_days", "asked_at", "microseconds"),
        Keeps("sessions", "feedback_days", "recorded_at", "microseconds"),
        Keeps("deliveries", "webhook_days", "created_at", "microseconds"),
        Keeps("alerts", "alert_days", "over_at", "microseconds", which="those that are over"),
        Keeps("alert_messages", "alert_days", "created_at", "microseconds"),
        Keeps("access_log", "access_log_days", "at", "microseconds"),
        Keeps("attempts", "alert_days", "since", "microseconds"),
        # Rows of `forgotten` keep older announcements from restoring erased feedback. They are not needed after the
        # topics' retention has removed these announcements. Revisions are log times in milliseconds.
        Keeps("forgotten", "tombstone_days", "revision", "milliseconds"),
    ],
    checks=check_settings,
    holds={
        "messages": SQL.held_messages,
        "feedbacks": SQL.held_feedbacks,
        "replies": SQL.held_replies,
        "rollups": SQL.held_rollups,
        "issue_turns": SQL.held_issue_turns,
        "deliveries": SQL.held_deliveries,
        "held_receipts": SQL.held_receipts_of_person,
        "hosted_artifacts": SQL.held_hosted_artifacts,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "erasures": "so that a replay restores nothing",
    },
    erases="texts and senders of messages, feedback, and webhook deliveries",
    erase=lambda parts: parts.erasures.erase,
    receipts=lambda parts: parts.receipts,
)
"""The reporting service, which can be started alone or with other services."""
