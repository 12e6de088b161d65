"""Resources of the feedback service: its stores, its databases, and the objects built from them for `service.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from feedback.rate_limit import PersonLimit
from feedback.registry import PostgresRegistry
from feedback.sessions import Sessions
from feedback.sessions_postgres import PostgresSessions
from feedback.settings import FeedbackSettings
from feedback.sql import SQL
from feedback.store import Store
from feedback.store_postgres import PostgresStore
from feedback.turn_erasures import TurnErasures
from servicekit.db.database import Database
from servicekit.log.records import Producer
from servicekit.service import Service

SCHEMA: Final = SQL.schema
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
    rate_limit: PersonLimit


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
        rate_limit=PersonLimit(pool, settings.person_limit),
    )


async def open_store(url: str, service: Service) -> Store:
    """Open the store that the scheme of the URL selects.

    Raises:
        StartError: The store cannot be opened.
    """
    if urlsplit(url).scheme.startswith("mongodb"):
        return await _open_mongo(url, service)
    return PostgresStore(await service.open_database(url, SCHEMA))


async def _open_mongo(url: str, service: Service) -> Store:
    # PyMongo takes 10 MB of memory, so it is imported only if MongoDB is configured.
    from feedback.mongo_connection import client_of, database_of, wait_until_up
    from feedback.store_mongo import MongoStore

    client = client_of(url)
    service.resources.push_async_callback(client.close)
    await wait_until_up(client, url, service.context.say)
    store = MongoStore(database_of(client))
    await store.make_indexes()
    service.probe(store.ping)
    return store
