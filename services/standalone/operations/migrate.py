"""Migration of every service's schema before the services start."""

from __future__ import annotations

from collections.abc import Callable

from servicekit.db.pools import migrate_database
from standalone.operations.log_access import database_answers
from standalone.operations.service_databases import service_databases


async def migrate_all(database_url: str | None, *, say: Callable[[str], None]) -> dict[str, list[str]]:
    """Apply the missing migrations of every service, and return their names by service.

    Uses each service's settings; `database_url` replaces all of their databases. Raises StartError if a database does
    not answer, or a schema is newer than this program can use.
    """
    made: dict[str, list[str]] = {}
    for place in service_databases(database_url):
        await database_answers(place.url)
        names = await migrate_database(
            place.url, place.service, place.migrations, say=say, tenants_apart=place.row_security
        )
        made.setdefault(place.service, []).extend(names)
    return made
