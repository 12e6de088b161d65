"""Definition of the feedback service: topics, routes, schedules, retention and erasure."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import APIRouter

from feedback.api import intake_router
from feedback.api_erasure import erasure_router
from feedback.api_reviews import reviews_router
from feedback.api_sessions import sessions_router
from feedback.erasure_status import ErasureStatusHandler
from feedback.handlers import FEEDBACK_TOPICS, FeedbackHandler
from feedback.parts import ANNOUNCEMENTS, FeedbackParts, open_parts
from feedback.registry import PostgresRegistry
from feedback.sessions import announce_ratings
from feedback.settings import FeedbackSettings
from feedback.sql import SQL
from feedback.store_postgres import PostgresStore
from feedback.submission import ExplicitIntake
from feedback.turns import TURN_TOPICS, TurnHandler
from feedback.widget.routes import widget_router
from servicekit.definition import Keeps, ServiceDefinition
from servicekit.service import Service

# A stub has the ids and the revision that an erasure leaves. It prevents the revision from decreasing if the
# record is created again. It is no longer needed when the topics have deleted all records before the erasure,
# because a revision is at least the log time.
STUBS: Final = Keeps(*("feedback", "stub_days", "revision", "milliseconds"), only="r.slots is null")
"""Retention of the feedback store, which may be in another database than the other tables."""


def _connect(parts: FeedbackParts, service: Service) -> None:
    settings, erasures = parts.settings, parts.turn_erasures
    turns = TurnHandler(PostgresRegistry(parts.pool), erasures)
    feedback = FeedbackHandler(parts.store, service.producer, settings.rewards, settings.project_rewards)
    # Turns are registered first, because a judgement over HTTP may wait for its turn.
    service.consume("feedback", {turns: TURN_TOPICS, feedback: FEEDBACK_TOPICS})
    service.consume("feedback_erasures", ErasureStatusHandler(parts.pool, erasures))
    service.every(ANNOUNCEMENTS, 5, partial(announce_ratings, parts.ratings, service.producer))
    if settings.person_limit:
        service.every("full_buckets", 60, parts.rate_limit.purge)
    service.every("session_retention", 3600, parts.sessions.purge)
    if isinstance(parts.store, PostgresStore):
        service.expire(parts.store.pool, [STUBS.expiry(settings)])


def _routers(parts: FeedbackParts) -> list[APIRouter]:
    context, settings, reads = parts.service.context, parts.settings, parts.reads
    progress = parts.service.progress("feedback", TURN_TOPICS, seconds=settings.log_seconds)
    look = partial(progress.poll_until_caught_up, settings.turn_seconds)
    intake = ExplicitIntake(
        PostgresRegistry(reads), look, parts.log, context.clock, parts.rate_limit, reference_time=context.reference_time
    )
    return [
        intake_router(intake),
        reviews_router(intake, parts.store),
        sessions_router(parts.sessions, settings.default_tenant),
        erasure_router(parts.log, reads, parts.turn_erasures, context.clock),
        widget_router(),
    ]


PROGRAM: ServiceDefinition[FeedbackParts] = ServiceDefinition(
    "feedback",
    FeedbackSettings,
    open_parts,
    connects=_connect,
    serves=_routers,
    keeps=[
        # Feedback records never expire, because `feedback.created` is complete. Neither does the erasure ledger,
        # because it prevents a replay from restoring an erased person's words.
        Keeps("messages", "turn_days", "stored_at"),
        Keeps("session_feedback", "session_days", "recorded_at"),
        Keeps("erasure_receipts", "erasure_status_days", "confirmed_at", "microseconds"),
        Keeps("erasure_requests", "erasure_status_days", "requested_at", "microseconds"),
    ],
    holds={
        "messages": SQL.held_messages,
        "session_feedback": SQL.held_session_feedback,
        "buckets": SQL.held_buckets,
        "erasure_requests": SQL.held_erasure_requests,
        "training_choices": SQL.held_training_choices,
        "erasures": SQL.held_erasures,
    },
    leaves={
        "messages": "a visitor may not rate a thread in which only others asked",
        "erasure_requests": "the status of the erasure itself",
        "training_choices": "so that the choice covers later feedback",
        "erasures": "so that a replay restores nothing",
    },
)
"""Definition of the service, which runs in its own process or in one process with the other services."""
