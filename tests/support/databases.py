"""New databases for tests. A copy of a template with the tables is made faster than the tables."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg

import chat_bridge.sql
import feedback.sql
import inference.sql
import reporting.sql
from servicekit.db.database import Database
from servicekit.db.pools import open_pool

_MEMORY = Path("/dev/shm")
_ROOM = 2 * 1024**3
"""Free bytes below which the folders are on disk, because containers often have only 64 MB of shared memory."""


def server_folder() -> TemporaryDirectory[str]:
    """Return a folder in memory if there is room, otherwise on disk: half of PostgreSQL's start is waiting for the
    disk.

    Other users may enter it: under root, PostgreSQL runs as another user, who cannot enter pytest's own folders.
    """
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM
    folder = TemporaryDirectory(prefix="af-", dir=_MEMORY if in_memory else None)
    Path(folder.name).chmod(0o755)
    return folder


SCHEMAS = {
    "chat_bridge": chat_bridge.sql.SQL.schema,
    "feedback": feedback.sql.SQL.schema,
    "inference": inference.sql.SQL.schema,
    "reporting": reporting.sql.SQL.schema,
}
"""SQL that creates each service's schema."""


class OneConnection:
    """Pool of a single connection, so that a batch is written in the transaction of the test."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[asyncpg.Connection]:
        yield self._connection


@asynccontextmanager
async def new_database(server: str, *schemas: str) -> AsyncIterator[str]:
    """Yield the URL of a new database with the tables of `schemas`; it is dropped at the end.

    `server` is the URL of any other database on the server.
    """
    connection = await asyncpg.connect(server)
    try:
        template = await _template(connection, server, schemas) if schemas else "template1"
        name = f"new_{uuid4().hex}"
        # Without durability, copying files is faster than copying blocks through the write-ahead log.
        await connection.execute(f"create database {name} template {template} strategy file_copy")
        yield _url_of(server, name)
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@asynccontextmanager
async def empty_schema(server: str, schema: str, **options: Any) -> AsyncIterator[Database]:
    """Yield a pool on `schema` in a new database; `options` are those of `open_pool`."""
    async with (
        new_database(server, schema) as url,
        await open_pool(url, schema, SCHEMAS[schema], **options) as pool,
    ):
        yield pool


async def _template(connection: asyncpg.Connection, server: str, schemas: tuple[str, ...]) -> str:
    """Return the name of a database with `schemas`, which is made once per server."""
    name = "_".join(("template", *schemas))
    if not await connection.fetchval("select exists (select from pg_database where datname = $1)", name):
        await connection.execute(f"create database {name}")
        for schema in schemas:
            pool = await open_pool(_url_of(server, name), schema, SCHEMAS[schema], size=1)
            await pool.close()
    return name


def _url_of(server: str, database: str) -> str:
    return urlsplit(server)._replace(path=f"/{database}").geturl()
