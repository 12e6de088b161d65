"""Migration of all services' databases before the services start."""

from __future__ import annotations

from collections.abc import Callable

from servicekit.db.pools import migrate_database
from standalone.operations.log_access import database_answers
from standalone.operations.service_databases import service_databases


async def migrate_all(database_url: str | None, *, say: Callable[[str], None]) -> dict[str, list[str]]:
    """Apply the missing migrations of all services, and return their names by service.

    Args:
        database_url: Database to use instead of those in the services' settings, or None.

    Raises:
        StartError: A database does not respond, or its schema is too new for this program.
    """
    made: dict[str, list[str]] = {}
    for place in service_databases(database_url):
        await database_answers(place.url)
        names = await migrate_database(
            place.url, place.service, place.migrations, say=say, tenants_apart=place.row_security
        )
        made.setdefault(place.service, []).extend(names)
    return made
