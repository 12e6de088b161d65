"""Selection of the feedback store by the scheme of its URL."""

from __future__ import annotations

from urllib.parse import urlsplit

from feedback.sql import SQL
from feedback.store import Store
from feedback.store_postgres import PostgresStore
from servicekit.service import Service

SCHEMA = SQL.schema


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
