"""Deletion, or counting, of rows older than their retention, in every service's tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

import chat_bridge.service
import feedback.service
import feedback.store_choice
import inference.service
import reporting.service
from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool, open_readonly
from servicekit.db.retention import Expiry, Retention
from servicekit.errors import StartError
from servicekit.settings import read_settings
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]
_SERVICES: tuple[tuple[Any, Any, type[Any]], ...] = (
    (chat_bridge.service, chat_bridge.service.PROGRAM, ChatBridgeSettings),
    (feedback.service, feedback.service.PROGRAM, FeedbackSettings),
    (inference.service, inference.service.PROGRAM, InferenceSettings),
    (reporting.service, reporting.service.PROGRAM, ReportingSettings),
)


@dataclass(frozen=True)
class _Tables:
    """One service's tables in one database, and the expiry of their rows."""

    service: str
    url: str
    migrations: Path
    expiries: Sequence[Expiry]


async def purge(database_url: str | None, *, dry_run: bool, say: Say) -> dict[str, dict[str, int]]:
    """Return the deleted rows by service and table (with `dry_run`: the rows that would be deleted).

    Uses each service's settings; `database_url` replaces all of their databases. `dry_run` does not migrate the tables.
    Raises StartError if a database does not answer, or its tables can't be counted.
    """
    found: dict[str, dict[str, int]] = {}
    for tables in _tables(database_url):
        await database_answers(tables.url)
        rows = await (_due(tables, say) if dry_run else _sweep(tables, say))
        found.setdefault(tables.service, {}).update(rows)
    return found


async def _sweep(tables: _Tables, say: Say) -> dict[str, int]:
    async with await open_pool(tables.url, tables.service, tables.migrations, size=1, say=say) as pool:
        return await Retention(tables.service, pool, SystemClock(), tables.expiries).sweep()


async def _due(tables: _Tables, say: Say) -> dict[str, int]:
    connection = await open_readonly(tables.url, tables.service, say=say)
    try:
        return await Retention(tables.service, connection, SystemClock(), tables.expiries).due()
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):
        reason = f"The tables of {tables.service} are missing, or older than this program: start the service once."
        raise StartError(reason) from None
    finally:
        await connection.close()


def _tables(url: str | None) -> list[_Tables]:
    tables = []
    for main, retention, settings_type in _SERVICES:
        settings = read_settings(settings_type)
        folder = Path(str(main.__file__)).parent / "migrations"
        database = url or settings.database_url
        tables.append(_Tables(main.PROGRAM.name, database, folder, retention.expiries(settings)))
    store = url or read_settings(FeedbackSettings).store_url
    if urlsplit(store).scheme.startswith("postgres"):
        expiries = feedback.service.PROGRAM.expiries(read_settings(FeedbackSettings), "store_pool")
        tables.append(_Tables("feedback", store, feedback.store_choice.MIGRATIONS, expiries))
    return tables
