"""PostgreSQL databases of all services, with their tables and retention periods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import chat_bridge.service
import feedback.service
import feedback.store_choice
import inference.service
import reporting.service
from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.db.pools import create_tables
from servicekit.db.retention import Expiry
from servicekit.settings import ReadSettings, read_settings
from standalone.operations.log_access import database_answers

_SERVICES: tuple[tuple[Any, Any, type[Any]], ...] = (
    (chat_bridge.service, chat_bridge.service.PROGRAM, ChatBridgeSettings),
    (feedback.service, feedback.service.PROGRAM, FeedbackSettings),
    (inference.service, inference.service.PROGRAM, InferenceSettings),
    (reporting.service, reporting.service.PROGRAM, ReportingSettings),
)


@dataclass(frozen=True)
class ServiceDatabase:
    """Database of a service, with the file of its tables and the expiry of its rows.

    `row_security` is True if HTTP requests read it with a role that sees only one tenant.
    """

    service: str
    url: str
    schema_file: Path
    expiries: Sequence[Expiry]
    row_security: bool


def service_databases(url: str | None) -> list[ServiceDatabase]:
    """Return the PostgreSQL databases in the settings of all services, with `url` as their address if given."""
    databases = []
    for main, retention, settings_type in _SERVICES:
        settings = read_settings(settings_type)
        schema_file = Path(str(main.__file__)).parent / "sql" / "schema.sql"
        secured = isinstance(settings, ReadSettings) and settings.row_security
        databases.append(
            ServiceDatabase(
                main.PROGRAM.name, url or settings.database_url, schema_file, retention.expiries(settings), secured
            )
        )
    settings = read_settings(FeedbackSettings)
    store = url or settings.store_url
    if urlsplit(store).scheme.startswith("postgres"):
        expiries = [feedback.service.STUBS.expiry(settings)]
        databases.append(
            ServiceDatabase("feedback", store, feedback.store_choice.SCHEMA, expiries, settings.row_security)
        )
    return databases


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
