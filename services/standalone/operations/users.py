"""Accounts of operators and keys of programs, changed in the tables of reporting without a running service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reporting.access.accounts import Accounts
from reporting.access.keys import ApiKeys
from reporting.parts import MIGRATIONS
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.settings import read_settings
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]


@asynccontextmanager
async def open_access(database_url: str | None, say: Say) -> AsyncIterator[tuple[Accounts, ApiKeys]]:
    """Yield the accounts and keys in a database, by default the settings' one. Raises StartError if it is down."""
    url = database_url or read_settings(ReportingSettings).database_url
    await database_answers(url)
    async with await open_pool(url, "reporting", MIGRATIONS, size=1, say=say) as pool:
        yield Accounts(pool, SystemClock()), ApiKeys(pool, SystemClock())
