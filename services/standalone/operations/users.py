"""Accounts of operators, changed in the tables of reporting without a running service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reporting.access.accounts import Accounts
from reporting.parts import MIGRATIONS
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.settings import read_settings
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]


@asynccontextmanager
async def open_accounts(database_url: str | None, say: Say) -> AsyncIterator[Accounts]:
    """Yield the accounts in a database, by default the one of the settings. Raises StartError if it does not answer."""
    url = database_url or read_settings(ReportingSettings).database_url
    await database_answers(url)
    async with await open_pool(url, "reporting", MIGRATIONS, size=1, say=say) as pool:
        yield Accounts(pool, SystemClock())
