"""Definition of the feedback service: topics, routes, schedules, retention and erasure."""

from __future__ import annotations

from feedback.api import intake_router
from feedback.api_erasure import erasure_router
from feedback.api_reviews import reviews_router
from feedback.api_sessions import sessions_router
from feedback.erasure_status import PostgresErasureStatuses
from feedback.parts import ANNOUNCEMENTS, FeedbackParts, open_parts
from feedback.settings import FeedbackSettings
from feedback.sql import SQL
from feedback.widget.routes import widget_router
from servicekit import Every, Keeps, Reads, ServiceDefinition

PROGRAM: ServiceDefinition[FeedbackParts] = ServiceDefinition(
    "feedback",
    FeedbackSettings,
    open_parts,
    reads=[
        Reads("feedback", FeedbackParts.handler, erases_itself=True),
        Reads("feedback_erasures", FeedbackParts.erasure_status_handler, erases_itself=True),
    ],
    serves=[
        lambda parts: intake_router(parts.intake, parts.settings.scales_in),
        lambda parts: reviews_router(parts.intake, parts.store),
        lambda parts: sessions_router(parts.sessions, parts.settings.default_tenant),
        lambda parts: erasure_router(
            parts.log, PostgresErasureStatuses(parts.reads), parts.turn_erasures, parts.service.context.clock
        ),
        lambda _: widget_router(),
    ],
    every=[
        Every(ANNOUNCEMENTS, 5, lambda parts: parts.announcer.sweep),
        Every("full_buckets", 60, lambda parts: parts.rate_limit.purge, if_set="person_limit"),
        Every("session_retention", 3600, lambda parts: parts.sessions.purge),
    ],
    keeps=[
        # Feedback records never expire, because `feedback.created` is complete. Neither does the erasure ledger,
        # because it prevents a replay from restoring an erased person's words.
        Keeps("messages", "turn_days", "stored_at"),
        Keeps("session_feedback", "session_days", "recorded_at"),
        Keeps("erasure_receipts", "erasure_status_days", "confirmed_at", "microseconds"),
        Keeps("erasure_requests", "erasure_status_days", "requested_at", "microseconds"),
        # A stub has the ids and the revision that an erasure leaves. It prevents the revision from decreasing if the
        # record is created again. It is no longer needed when the topics have deleted all records before the erasure,
        # because a revision is at least the log time.
        Keeps(
            *("feedback", "stub_days", "revision", "milliseconds"),
            only="r.slots is null",
            which="stubs that an erasure leaves",
            pool="store_pool",
        ),
    ],
    holds={
        "messages": SQL.held_messages,
        "session_feedback": SQL.held_session_feedback,
        "buckets": SQL.held_buckets,
        "erasure_requests": SQL.held_erasure_requests,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "messages": "a visitor may not rate a thread in which only others asked",
        "erasure_requests": "the status of the erasure itself",
        "erasures": "so that a replay restores nothing",
    },
    erases="feedback up to a stub of its ids, roles, and the person's id in messages and ratings",
)
"""Definition of the service, which runs in its own process or in one process with the other services."""
