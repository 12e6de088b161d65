"""Creation of a service's tables and functions (`Statements.schema`).

The table `schema_version` has the digest of the SQL that created the schema. A program uses only tables that its own
SQL has created: before the first release, no schema is upgraded.
"""

from __future__ import annotations

import hashlib
from typing import Final

import asyncpg

from servicekit.errors import StartError

_TABLES: Final = "select count(*) from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'v')"
_CREATE_VERSION: Final = """
create table {schema}.schema_version (version text primary key, created_at timestamptz not null default now())
"""


def schema_version(sql: str) -> str:
    """Return the digest of the SQL that creates a schema."""
    return hashlib.sha256(sql.encode()).hexdigest()


async def create_schema(connection: asyncpg.Connection, schema: str, sql: str) -> bool:
    """Run `sql` in `schema` if it has no tables, and return True if it had none.

    Several processes may call this concurrently.

    Raises:
        StartError: If other SQL created the tables.
    """
    async with connection.transaction():
        await connection.execute("set local statement_timeout = 0; set local lock_timeout = 0")
        await connection.execute("select pg_advisory_xact_lock(hashtext($1))", f"agent-feedback {schema}")
        await connection.execute(f"create schema if not exists {schema}")
        if await connection.fetchval(_TABLES, schema):
            await _check_version(connection, schema, sql)
            return False
        await connection.execute(sql)
        await connection.execute(_CREATE_VERSION.format(schema=schema))
        await connection.execute(f"insert into {schema}.schema_version (version) values ($1)", schema_version(sql))
        return True


async def _check_version(connection: asyncpg.Connection, schema: str, sql: str) -> None:
    has_version = await connection.fetchval("select to_regclass($1) is not null", f"{schema}.schema_version")
    version = await connection.fetchval(f"select version from {schema}.schema_version") if has_version else None
    if version != schema_version(sql):
        raise StartError(
            f"The tables of {schema} were created by another version of this program, which cannot be upgraded: export "
            "its data with that version, or start over with an empty database or state folder."
        )
