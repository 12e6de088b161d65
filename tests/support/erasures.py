"""Erasure of a person over HTTP, and the search for what is left of their words."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from tests.support.databases import SCHEMAS
from tests.support.running_stack import RunningStack
from tests.support.waits import PATIENCE_SECONDS


async def erased(stack: RunningStack, user: str, token: str = "all") -> dict[str, Any]:
    """Erase the person; return the status when every service has confirmed it."""
    async with stack.client(token) as http:
        accepted = await http.delete(f"/tenants/acme/users/{user}")
        assert accepted.status_code == 202, accepted.text
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                status = await http.get(accepted.json()["status_url"])
                if status.status_code == 200 and status.json()["complete"]:
                    return dict(status.json())
                await asyncio.sleep(0.05)


async def columns_holding(database_url: str, text: str) -> set[str]:
    """Return `schema.table.column` of all columns with `text` in any row, as text or in bytes."""
    connection = await asyncpg.connect(database_url)
    try:
        columns = await connection.fetch(
            "select table_schema, table_name, column_name from information_schema.columns join "
            "information_schema.tables using (table_schema, table_name) "
            "where table_type = 'BASE TABLE' and table_schema = any($1::text[])",
            list(SCHEMAS),
        )
        found = set[str]()
        for schema, table, column in columns:
            if await connection.fetchval(
                f'select exists (select from "{schema}"."{table}" where strpos("{column}"::text, $1) > 0 '
                f"or strpos(\"{column}\"::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0)",
                text,
            ):
                found.add(f"{schema}.{table}.{column}")
        return found
    finally:
        await connection.close()
