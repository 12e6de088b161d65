"""Creation of a service's tables from its file `sql/schema.sql`.

The table `schema_version` has the digest of the file from which the tables were created. A program uses only tables
that were created from its own file: before the first release, no schema is upgraded.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import asyncpg

from servicekit.errors import StartError

_TABLES: Final = "select count(*) from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'v')"
_CREATE_VERSION: Final = """
create table {schema}.schema_version (version text primary key, created_at timestamptz not null default now())
"""


def schema_version(file: Path) -> str:
    """Return the digest of a schema file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


async def create_schema(connection: asyncpg.Connection, schema: str, file: Path) -> bool:
    """Create the tables of `schema` from `file` if there are none, and return True if they were created.

    Several processes may call this concurrently.

    Raises:
        StartError: If the tables were created from another file.
    """
    async with connection.transaction():
        await connection.execute("set local statement_timeout = 0; set local lock_timeout = 0")
        await connection.execute("select pg_advisory_xact_lock(hashtext($1))", f"agent-feedback {schema}")
        await connection.execute(f"create schema if not exists {schema}")
        if await connection.fetchval(_TABLES, schema):
            await _check_version(connection, schema, file)
            return False
        await connection.execute(file.read_text("utf-8"))
        await connection.execute(_CREATE_VERSION.format(schema=schema))
        await connection.execute(f"insert into {schema}.schema_version (version) values ($1)", schema_version(file))
        return True


async def _check_version(connection: asyncpg.Connection, schema: str, file: Path) -> None:
    has_version = await connection.fetchval("select to_regclass($1) is not null", f"{schema}.schema_version")
    version = await connection.fetchval(f"select version from {schema}.schema_version") if has_version else None
    if version != schema_version(file):
        raise StartError(
            f"The tables of {schema} were created by another version of this program, which cannot be upgraded: export "
            "its data with that version, or start over with an empty database or state folder."
        )
