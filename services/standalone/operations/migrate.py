"""Creation of all services' tables before the services start."""

from __future__ import annotations

from collections.abc import Callable

from servicekit.db.pools import create_tables
from standalone.operations.log_access import database_answers
from standalone.operations.service_databases import service_databases


async def migrate_all(database_url: str | None, *, say: Callable[[str], None]) -> dict[str, bool]:
    """Create the missing tables of all services, and return by service if any were created.

    Args:
        database_url: Database to use instead of those in the services' settings, or None.

    Raises:
        StartError: A database does not respond, or its tables are of another version.
    """
    created: dict[str, bool] = {}
    for database in service_databases(database_url):
        await database_answers(database.url)
        is_created = await create_tables(
            database.url, database.service, database.schema_file, say=say, tenants_apart=database.row_security
        )
        created[database.service] = created.get(database.service, False) or is_created
    return created
