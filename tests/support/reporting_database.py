"""An empty reporting schema for tests."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import asyncpg

from servicekit.db.database import Database
from tests.support.databases import empty_schema


def empty_read_models(server: str) -> AbstractAsyncContextManager[Database]:
    """Return a pool on the schema `reporting` in a new database."""
    return empty_schema(server, "reporting")


async def truncate(read_models: asyncpg.Pool) -> None:
    """Empty all tables of the schema except the schema's version, faster than a new schema."""
    tables = await read_models.fetch(
        "select tablename from pg_tables where schemaname = 'reporting' and tablename <> 'schema_version'"
    )
    await read_models.execute(f"truncate {', '.join(row['tablename'] for row in tables)} cascade")
