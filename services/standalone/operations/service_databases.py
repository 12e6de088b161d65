"""PostgreSQL databases of all services, with their tables and retention periods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from urllib.parse import urlsplit

import feedback.parts
import feedback.service
from feedback.settings import FeedbackSettings
from servicekit.db.pools import create_tables
from servicekit.db.retention import Expiry
from servicekit.db.statements import Statements
from servicekit.settings import ReadSettings, read_settings
from standalone.operations.log_access import database_answers
from standalone.programs import PROGRAMS


@dataclass(frozen=True)
class ServiceDatabase:
    """Database of a service, with the SQL that creates its schema and the expiry of its rows.

    `row_security` is True if HTTP requests read it with a role that sees only one tenant.
    """

    service: str
    url: str
    schema: str
    expiries: Sequence[Expiry]
    row_security: bool


def service_databases(url: str | None) -> list[ServiceDatabase]:
    """Return the PostgreSQL databases in the settings of all services, with `url` as their address if given."""
    databases = []
    for program in PROGRAMS:
        settings = read_settings(program.settings)
        statements: Statements = import_module(f"{program.name}.sql").SQL
        secured = isinstance(settings, ReadSettings) and settings.row_security
        databases.append(
            ServiceDatabase(
                program.name, url or settings.database_url, statements.schema, program.expiries(settings), secured
            )
        )
    settings = read_settings(FeedbackSettings)
    store = url or settings.store_url
    if urlsplit(store).scheme.startswith("postgres"):
        expiries = [feedback.service.STUBS.expiry(settings)]
        databases.append(ServiceDatabase("feedback", store, feedback.parts.SCHEMA, expiries, settings.row_security))
    return databases


async def migrate_all(database_url: str | None, *, say: Callable[[str], None]) -> dict[str, bool]:
    """Create the missing tables of all services. Return, by service, True if any were created.

    Args:
        database_url: Database to use instead of those in the services' settings, or None.

    Raises:
        StartError: A database does not respond, or its tables are of another version.
    """
    created: dict[str, bool] = {}
    for database in service_databases(database_url):
        await database_answers(database.url)
        is_created = await create_tables(
            database.url, database.service, database.schema, say=say, tenants_apart=database.row_security
        )
        created[database.service] = created.get(database.service, False) or is_created
    return created
