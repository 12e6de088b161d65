"""Deletion of the rows past their retention period in all services' tables, or a count of them."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool, open_readonly
from servicekit.db.retention import Retention
from servicekit.errors import StartError
from standalone.operations.log_access import database_answers
from standalone.operations.service_databases import ServiceDatabase, service_databases

Say = Callable[[str], None]


async def purge(database_url: str | None, *, dry_run: bool, say: Say) -> dict[str, dict[str, int]]:
    """Delete expired rows and return their number by service and table.

    Args:
        database_url: Database to use instead of those in the services' settings, or None.
        dry_run: True to only count the rows. The tables are then not migrated.

    Raises:
        StartError: A database does not respond, or its tables cannot be counted.
    """
    found: dict[str, dict[str, int]] = {}
    for tables in service_databases(database_url):
        await database_answers(tables.url)
        rows = await (_due(tables, say) if dry_run else _sweep(tables, say))
        found.setdefault(tables.service, {}).update(rows)
    return found


async def _sweep(tables: ServiceDatabase, say: Say) -> dict[str, int]:
    async with await open_pool(tables.url, tables.service, tables.migrations, size=1, say=say) as pool:
        return await Retention(tables.service, pool, SystemClock(), tables.expiries).sweep()


async def _due(tables: ServiceDatabase, say: Say) -> dict[str, int]:
    connection = await open_readonly(tables.url, tables.service, say=say)
    try:
        return await Retention(tables.service, connection, SystemClock(), tables.expiries).due()
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):
        reason = f"The tables of {tables.service} are missing, or older than this program: start the service once."
        raise StartError(reason) from None
    finally:
        await connection.close()
