"""The feedback stores, each empty, in one fixture."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from feedback.mongo_connection import client_of, database_of
from feedback.store import Store
from feedback.store_mongo import MongoStore
from feedback.store_postgres import PostgresStore
from tests.support.databases import empty_schema
from tests.support.feedback_memory import MemoryStore
from tests.support.mongo_server import mongo_server


@pytest.fixture(scope="session")
def mongo_url() -> Iterator[str]:
    """Yield a MongoDB or its stand-in: see tests/support/mongo_server.py."""
    with mongo_server() as url:
        yield url


@asynccontextmanager
async def mongo_store(url: str) -> AsyncIterator[MongoStore]:
    address, _, options = url.partition("?")
    client = client_of(f"{address.rstrip('/')}/test_{uuid.uuid4().hex}" + (f"?{options}" if options else ""))
    try:
        database = database_of(client)
        store = MongoStore(database)
        await store.make_indexes()
        yield store
        await client.drop_database(database.name)
    finally:
        await client.close()


@pytest.fixture(params=["memory", "postgres", pytest.param("mongo", marks=pytest.mark.real)])
async def feedback_store(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Store]:
    """Yield each of the feedback service's stores in turn, empty."""
    match request.param:
        case "memory":
            yield MemoryStore()
        case "postgres":
            async with empty_schema(postgres_url, "feedback") as pool:
                yield PostgresStore(pool)
        case "mongo":
            async with mongo_store(request.getfixturevalue("mongo_url")) as store:
                yield store
