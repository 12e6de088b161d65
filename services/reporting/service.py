"""Reporting's page: what it reads, serves, does on a schedule, keeps and erases."""

from __future__ import annotations

from contracts.scopes import ADMIN, DETECT, EXPORT, OPERATE, READ, REVIEW
from reporting.api.access import callers_router
from reporting.api.alerts import ALERTS, REMOVALS, RULES, TESTS, alerts_router
from reporting.api.audit.routes import AUDIT, DRAWS, audit_router
from reporting.api.conversations import CONVERSATION, PROJECT, conversations_router
from reporting.api.exports import EXPORT as EXPORTS
from reporting.api.exports import exports_router
from reporting.api.figures import SESSIONS, figures_router
from reporting.api.issues import CHANGE, ISSUE, ISSUES, MERGE, SPLIT, issues_router
from reporting.api.suspects import SUSPICION, suspects_router
from reporting.api.webhooks import REPLAY, WEBHOOKS, webhooks_router
from reporting.dashboard.access import ACCESS, ACCOUNTS, KEYS, access_router
from reporting.dashboard.routes import ALERTS as ALERTS_PAGE
from reporting.dashboard.routes import FILES, PAGES, pages_router
from reporting.dashboard.sign_in import LINK, PASSWORD, password_router
from reporting.egress.webhooks.handlers import ErasureRequestHandler
from reporting.parts import ReportingParts, open_parts
from reporting.read_models.erasure_log import ErasureLogHandler
from reporting.read_models.where import feedback_of, is_noted
from reporting.settings import ReportingSettings
from reporting.sql import SQL
from servicekit import (
    OWN_CALLER,
    Erases,
    Every,
    Holds,
    Keeps,
    Reads,
    Serves,
    ServiceDefinition,
    Where,
    needs,
)

PROGRAM: ServiceDefinition[ReportingParts] = ServiceDefinition(
    "reporting",
    ReportingSettings,
    open_parts,
    reads=[
        # Who asked for an erasure is logged as well.
        Reads("reporting", ReportingParts.projection_handler, is_noted, around=ErasureLogHandler),
        Reads(
            *("webhooks", ReportingParts.webhook_handler, "dead letters"),
            # Receivers have the person's text too, so the request goes to them as well.
            around=ErasureRequestHandler,
            if_set="webhooks",
        ),
    ],
    serves=[
        Serves(
            lambda parts: conversations_router(
                parts.reads, parts.service.context.clock, parts.settings.artifact_store_url, parts.access_log
            ),
            {
                ("POST", PROJECT + "/feedback/conversations-in-period"): needs(READ),
                ("POST", PROJECT + "/feedback/search"): needs(READ),
                ("POST", PROJECT + "/feedback/artifacts"): needs(READ),
                ("POST", CONVERSATION + "/turns-with-feedbacks"): needs(READ),
                ("POST", CONVERSATION + "/feedback/latest"): needs(READ, DETECT),
                ("GET", CONVERSATION + "/turns/{turn_id:segment}/feedback"): needs(),
            },
        ),
        Serves(
            lambda parts: figures_router(parts.reads, parts.service.context.clock),
            {
                ("POST", SESSIONS): needs(READ),
                ("GET", PROJECT + "/feedback/summary"): needs(READ),
                ("GET", PROJECT + "/feedback/agents"): needs(READ),
                ("GET", PROJECT + "/feedback/compare"): needs(READ),
                ("GET", PROJECT + "/feedback/calibration"): needs(READ),
                ("GET", PROJECT + "/feedback/reasons"): needs(READ),
            },
        ),
        Serves(lambda parts: exports_router(parts.reads, parts.access_log), {("GET", EXPORTS): needs(EXPORT)}),
        Serves(
            lambda parts: audit_router(parts.reads, parts.pool, parts.service.context.clock),
            {("GET", AUDIT): needs(READ), ("GET", DRAWS): needs(REVIEW), ("POST", DRAWS): needs(REVIEW)},
        ),
        Serves(
            lambda parts: issues_router(parts.reads, parts.pool, parts.service.context.clock),
            {
                ("GET", ISSUES): needs(READ),
                ("GET", ISSUE): needs(READ),
                ("POST", CHANGE): needs(REVIEW),
                ("POST", MERGE): needs(REVIEW),
                ("POST", SPLIT): needs(REVIEW),
            },
        ),
        Serves(
            lambda parts: suspects_router(parts.pool, parts.service.context.clock),
            {("POST", SUSPICION): needs(REVIEW)},
        ),
        Serves(
            lambda parts: webhooks_router(parts.endpoints, parts.deliveries, parts.service.context.clock),
            {("GET", WEBHOOKS): needs(ADMIN), ("POST", REPLAY): needs(ADMIN)},
        ),
        Serves(
            lambda parts: alerts_router(parts.alert_administration),
            {
                ("GET", ALERTS): needs(READ),
                ("POST", RULES): needs(OPERATE, ADMIN),
                ("POST", REMOVALS): needs(OPERATE, ADMIN),
                ("POST", TESTS): needs(OPERATE, ADMIN),
            },
        ),
        Serves(
            lambda parts: pages_router(
                parts.reads,
                parts.service.context.clock,
                parts.health,
                parts.settings.trace_url_template,
                parts.where,
                parts.alert_administration,
                parts.access_log,
            ),
            {("GET", path): needs(READ) for path in PAGES}
            | {("GET", path): needs(EXPORT) for path in FILES}
            | {("POST", ALERTS_PAGE): needs(OPERATE, ADMIN)},
            pages=True,
        ),
        Serves(lambda _: callers_router(), {("GET", OWN_CALLER): needs()}),
        Serves(
            lambda parts: access_router(parts.sessions, parts.accounts, parts.keys, parts.reads, parts.access_log),
            {
                ("GET", ACCESS): needs(READ),
                ("POST", ACCESS): needs(READ),
                ("POST", ACCOUNTS): needs(ADMIN),
                ("POST", KEYS): needs(ADMIN),
            },
            pages=True,
        ),
        Serves(
            lambda parts: password_router(parts.sessions),
            {
                ("POST", PASSWORD): needs(token=False),
                ("GET", LINK): needs(token=False),
                ("POST", LINK): needs(token=False),
            },
        ),
    ],
    every=[
        Every("rollups", 5, lambda parts: parts.rollups.catch_up),
        Every("issues", 10, lambda parts: parts.issues.catch_up, delay=10),
        Every("suspects", 2, ReportingParts.mark_suspects),
        Every("resolution notices", 60, ReportingParts.tell_of_resolutions, if_set="resolved_notice_minutes"),
        Every("artifacts", 2, ReportingParts.replicate_artifacts, if_set="artifact_store_url"),
        Every("feedback metrics", 60, lambda parts: parts.feedback_metrics.update),
        Every("alerts", 60, ReportingParts.evaluate_alerts),
        Every("alert messages", 2, lambda parts: parts.alert_courier.deliver),
        Every("webhook", 1, ReportingParts.couriers, if_set="webhooks"),
    ],
    keeps=[
        Keeps("messages", "message_days", "occurred_at", "microseconds"),
        Keeps("feedbacks", "feedback_days", "occurred_at", "microseconds"),
        Keeps("replies", "feedback_days", "occurred_at", "microseconds"),
        # The retention of feedback removes these rows as well: each deletion is a changed rejection.
        Keeps("issue_turns", "message_days", "asked_at", "microseconds"),
        Keeps("resolution_notices", "resolved_notice_days", "resolved_at", "microseconds"),
        Keeps("suspect_decisions", "feedback_days", "decided_at", "microseconds"),
        Keeps("sessions", "feedback_days", "recorded_at", "microseconds"),
        Keeps("deliveries", "webhook_days", "created_at", "microseconds"),
        Keeps("alerts", "alert_days", "over_at", "microseconds", which="those that are over"),
        Keeps("alert_messages", "alert_days", "created_at", "microseconds"),
        Keeps("alert_digests", "alert_days", "period_end", "microseconds"),
        Keeps("journal", "journal_days", "noted_at"),
        Keeps("account_sessions", "session_days", "created_at", "microseconds"),
        Keeps("access_log", "access_log_days", "at", "microseconds"),
        Keeps("sign_in_attempts", "session_days", "since", "microseconds"),
        # Rows of `forgotten` stop older announcements from restoring erased feedback. They are not needed once the
        # topics' retention has removed those announcements. Revisions are log times in milliseconds.
        Keeps("forgotten", "tombstone_days", "revision", "milliseconds"),
    ],
    where=Where("reports", "reporting", feedback_of=feedback_of, states=ReportingParts.states),
    holds=[
        Holds("messages", SQL.held_messages),
        Holds("feedbacks", SQL.held_feedbacks),
        Holds("replies", SQL.held_replies),
        Holds("rollups", SQL.held_rollups),
        Holds("issue_turns", SQL.held_issue_turns),
        Holds("resolution_notices", SQL.held_resolution_notices),
        Holds("suspect_changes", SQL.held_suspect_changes),
        Holds("deliveries", SQL.held_deliveries),
        Holds("held_receipts", SQL.held_receipts_of_person),
        Holds("hosted_artifacts", SQL.held_hosted_artifacts),
        Holds("erasures", SQL.held_erasures, stays="so that a replay restores nothing"),
    ],
    erases=Erases(
        "texts and senders of messages, feedback, notices of resolved issues, and webhook deliveries",
        lambda parts: parts.erasures.erase,
        receipts=lambda parts: parts.receipts,
    ),
)
"""Reporting as it is started, alone or with the other services."""
