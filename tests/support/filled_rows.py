"""Insertion of rows of which a test names only the relevant columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import asyncpg


async def insert(pool: asyncpg.Pool, table: str, *rows: Mapping[str, Any]) -> None:
    """Insert `rows`, all with the same columns; other columns that must not be null get a default of their type."""
    columns = await pool.fetch(
        "select attname as name, atttypid::regtype::text as type from pg_attribute where attrelid = $1::regclass "
        "and attnum > 0 and not attisdropped and attnotnull and not atthasdef and attidentity = ''",
        table,
    )
    filled = [{row["name"]: _anything(row["type"]) for row in columns} | dict(given) for given in rows]
    places = ", ".join(f"${number}" for number in range(1, len(filled[0]) + 1))
    await pool.executemany(
        f"insert into {table} ({', '.join(filled[0])}) values ({places})", [list(row.values()) for row in filled]
    )


def _anything(column_type: str) -> Any:
    match column_type:
        case "uuid":
            return uuid4()
        case "text":
            return uuid4().hex
        case "jsonb" | "json":
            return "{}"
        case "boolean":
            return True
        case "bytea":
            return uuid4().bytes
        case "timestamp with time zone":
            return datetime.fromtimestamp(0, UTC)
        case _ if column_type.endswith("[]"):
            return []
        case _:
            return 1
