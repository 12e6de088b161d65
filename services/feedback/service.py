"""The feedback service's composition root."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from feedback import api, api_erasure, api_reviews, api_sessions, where
from feedback.api import intake_router
from feedback.api_erasure import erasure_router
from feedback.api_reviews import reviews_router
from feedback.api_sessions import sessions_router
from feedback.erasure_status import ErasureStatusHandler, PostgresErasureStatuses
from feedback.handlers import FeedbackHandler
from feedback.registry_postgres import PostgresRegistry
from feedback.retention import expiries, store_expiries
from feedback.sessions import SessionAnnouncer, Sessions
from feedback.sessions_postgres import PostgresSessions
from feedback.settings import FeedbackSettings
from feedback.store import Store
from feedback.store_memory import MemoryStore
from feedback.store_postgres import PostgresStore
from feedback.submission import ExplicitIntake
from feedback.turn_erasures import TurnErasures
from feedback.turns import TurnHandler
from feedback.widget import routes as widget
from feedback.widget.routes import widget_router
from servicekit.errors import StartError
from servicekit.launcher import Program
from servicekit.log.journal import Journal, JournalingHandler, JournalReader
from servicekit.log.reach import Reach
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.settings import read_settings
from servicekit.web.application import Surface
from servicekit.web.journal import WhereLookup, where_router
from servicekit.web.log_writer import LogWriter
from servicekit.web.permissions import merged

MIGRATIONS = Path(__file__).parent / "migrations"
ANNOUNCE_SECONDS = 5.0
"""Interval of the search for ratings whose announcement failed, in seconds."""
RETENTION_SECONDS = 3600.0
"""Interval of the deletion of expired ratings, in seconds."""


async def build(settings: FeedbackSettings, context: ServiceContext) -> Service:
    """Build the service, connected to its store and ready to start."""
    service = Service("feedback", context)
    store = await open_store(settings.store_url, service)
    if isinstance(store, PostgresStore):
        service.expire(store.pool, store_expiries(settings))
    pool = await service.open_database(settings.database_url, MIGRATIONS)
    every_reward = {emoji: value for one in settings.project_rewards.values() for emoji, value in one.items()}
    journal = Journal(pool, partial(where.feedback_of, every_reward | dict(settings.rewards)))
    events = FeedbackHandler(store, service.producer, settings.rewards, settings.project_rewards)
    service.consume("feedback", JournalingHandler(events, journal))
    service.facts["totals"] = store.totals
    await _open_intake(settings, service, store, pool)
    return service


async def _open_intake(settings: FeedbackSettings, service: Service, store: Store, pool: asyncpg.Pool) -> None:
    """The turn registry, what fills it, and the HTTP routes that need it."""
    around = service.context
    service.expire(pool, expiries(settings))
    turn_erasures = TurnErasures(pool, Pseudonyms(read_settings(ErasureSettings)))
    service.consume("feedback_turns", TurnHandler(PostgresRegistry(pool), turn_erasures))
    reads = await service.open_reads(settings, MIGRATIONS, by_key=True)
    registry = PostgresRegistry(reads)
    reach = Reach(service.subscriptions[-1], around.bootstrap, seconds=settings.log_seconds)
    service.resources.push_async_callback(reach.close)
    log = LogWriter(service.producer, room=around.room, seconds=settings.log_seconds)
    intake = ExplicitIntake(
        registry, reach, log, around.clock, wait_seconds=settings.turn_seconds, judge_at=around.judge_at
    )
    ratings = PostgresSessions(pool)
    announcer = SessionAnnouncer(ratings, service.producer)
    sessions = Sessions(
        registry,
        ratings,
        PostgresSessions(reads),
        announcer,
        around.clock,
        seconds=settings.session_seconds,
        days=settings.session_days,
    )
    service.every(Periodic("session_announcements", ANNOUNCE_SECONDS, announcer.sweep))
    service.every(Periodic("session_retention", RETENTION_SECONDS, sessions.purge))
    service.consume("feedback_erasures", ErasureStatusHandler(PostgresErasureStatuses(pool), turn_erasures))
    lookup = service.lookups["where feedback"] = WhereLookup(JournalReader(reads), partial(where.states_of, store))
    service.routers += [
        intake_router(intake),
        reviews_router(intake, store),
        sessions_router(sessions, settings.default_tenant),
        erasure_router(log, PostgresErasureStatuses(reads), around.clock),
        widget_router(),
        where_router(where.PATH, lookup, "feedback"),
    ]


async def open_store(url: str, service: Service) -> Store:
    """Open the store that the scheme of `url` selects. Raises StartError for an unknown scheme."""
    match urlsplit(url).scheme:
        case "postgresql" | "postgres":
            return PostgresStore(await service.open_database(url, MIGRATIONS))
        case "mongodb" | "mongodb+srv":
            return await _open_mongo(url, service)
        case "memory":
            return MemoryStore()
        case scheme:
            raise StartError(
                f"FEEDBACK_STORE_URL must start with postgresql://, mongodb:// or memory://, not {scheme}://."
            )


async def _open_mongo(url: str, service: Service) -> Store:
    # PyMongo takes 10 MB of memory: import it only if a MongoDB is configured.
    from feedback.mongo_connection import client_of, database_of, wait_until_up
    from feedback.store_mongo import MongoStore

    client = client_of(url)
    service.resources.push_async_callback(client.close)
    await wait_until_up(client, url, service.context.say)
    store = MongoStore(database_of(client))
    await store.make_indexes()
    service.probe(store.ping)
    return store


PERMISSIONS = merged(
    *(api.PERMISSIONS, api_reviews.PERMISSIONS, api_erasure.PERMISSIONS, api_sessions.PERMISSIONS),
    *(widget.PERMISSIONS, where.PERMISSIONS),
)
PROGRAM = Program("feedback", FeedbackSettings, build, Surface(PERMISSIONS))
"""The service as its own process."""
