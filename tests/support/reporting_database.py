"""An empty reporting schema for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from reporting.parts import MIGRATIONS
from servicekit.db.pools import open_pool


@asynccontextmanager
async def empty_read_models(url: str) -> AsyncIterator[asyncpg.Pool]:
    """Yield a pool on a new schema `reporting`."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("drop schema if exists reporting cascade")
    finally:
        await connection.close()
    pool = await open_pool(url, "reporting", MIGRATIONS)
    try:
        yield pool
    finally:
        await pool.close()


async def truncate(read_models: asyncpg.Pool) -> None:
    """Empty all tables of the schema except the list of migrations, faster than a new schema."""
    tables = await read_models.fetch(
        "select tablename from pg_tables where schemaname = 'reporting' and tablename <> 'migrations'"
    )
    await read_models.execute(f"truncate {', '.join(row['tablename'] for row in tables)} cascade")
