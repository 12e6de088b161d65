"""Resources of the feedback service: its stores, its databases, and the objects built from them for `service.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import asyncpg

from contracts.topics import Topic
from feedback.erasure_status import ErasureStatusHandler
from feedback.handlers import FEEDBACK_TOPICS, FeedbackHandler
from feedback.rate_limit import PersonLimit
from feedback.registry import PostgresRegistry
from feedback.sessions import Sessions
from feedback.sessions_postgres import PostgresSessions
from feedback.settings import FeedbackSettings
from feedback.store import Store
from feedback.store_choice import SCHEMA, open_store
from feedback.store_postgres import PostgresStore
from feedback.submission import ExplicitIntake
from feedback.turn_erasures import TurnErasures
from feedback.turns import TURN_TOPICS, TurnHandler
from servicekit.db.database import Database
from servicekit.log.handler import Handler
from servicekit.log.records import Producer
from servicekit.service import Service

ANNOUNCEMENTS: Final = "session_announcements"
"""Name of the periodic task that announces session ratings."""


@dataclass(frozen=True)
class FeedbackParts:
    """Open resources of the feedback service.

    `reads` is the connection pool for the reads of HTTP requests. Each of its connections sees one tenant at a time.
    """

    settings: FeedbackSettings
    service: Service
    store: Store
    pool: Database
    reads: Database
    turn_erasures: TurnErasures
    log: Producer
    ratings: PostgresSessions
    sessions: Sessions

    @property
    def store_pool(self) -> asyncpg.Pool | None:
        """The store's connection pool; None if the store is not in PostgreSQL."""
        return self.store.pool if isinstance(self.store, PostgresStore) else None

    def handlers(self) -> Mapping[Handler, Collection[Topic]]:
        """Return the handlers of the group `feedback`, each with its topics.

        Turns are registered first, because a judgement over HTTP may wait for its turn.
        """
        turns = TurnHandler(PostgresRegistry(self.pool), self.turn_erasures)
        feedback = FeedbackHandler(
            self.store, self.service.producer, self.settings.rewards, self.settings.project_rewards
        )
        return {turns: TURN_TOPICS, feedback: FEEDBACK_TOPICS}

    def erasure_status_handler(self) -> ErasureStatusHandler:
        return ErasureStatusHandler(self.pool, self.turn_erasures)

    @cached_property
    def rate_limit(self) -> PersonLimit:
        return PersonLimit(self.pool, self.settings.person_limit)

    @cached_property
    def intake(self) -> ExplicitIntake:
        """Intake of judgements and reviews.

        For an unknown turn, it waits until the registry has read the log.
        """
        context, settings = self.service.context, self.settings
        progress = self.service.progress("feedback", TURN_TOPICS, seconds=settings.log_seconds)
        return ExplicitIntake(
            PostgresRegistry(self.reads),
            partial(progress.look_until_read, settings.turn_seconds),
            self.log,
            context.clock,
            self.rate_limit,
            judge_at=context.judge_at,
        )


async def open_parts(settings: FeedbackSettings, service: Service) -> FeedbackParts:
    """Open the service's resources: the store, the database, and the connection pool for HTTP reads.

    Raises:
        StartError: A resource cannot be opened with these settings.
    """
    context = service.context
    store = await open_store(settings.store_url, service)
    pool = await service.open_database(settings.database_url, SCHEMA)
    reads = await service.open_reads(settings, SCHEMA)
    ratings = PostgresSessions(pool)
    sessions = Sessions(
        PostgresRegistry(reads),
        ratings,
        PostgresSessions(reads),
        partial(service.wake, ANNOUNCEMENTS),
        context.clock,
        seconds=settings.session_seconds,
        days=settings.session_days,
    )
    return FeedbackParts(
        settings=settings,
        service=service,
        store=store,
        pool=pool,
        reads=reads,
        turn_erasures=TurnErasures(pool, service.pseudonym_of),
        log=service.request_producer(settings.log_seconds),
        ratings=ratings,
        sessions=sessions,
    )
