"""Changes to API keys in the database, without a running service."""

from __future__ import annotations

import os
import pwd
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from contracts.scopes import ALL_SCOPES
from reporting.access.keys import ApiKeys
from reporting.parts import SCHEMA
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.settings import read_settings
from servicekit.web.auth import Caller
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]
COMMAND: Final = "command line"
"""Prefix of the author recorded for changes made on the command line. The name of the system user follows."""


def operator() -> Caller:
    """Return the caller recorded as the author of a change, who has all rights: the operating system's user."""
    try:
        name = f"{COMMAND}: {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        name = COMMAND  # a container's user without a name
    return Caller(name, scopes=ALL_SCOPES)


@asynccontextmanager
async def open_keys(database_url: str | None, say: Say) -> AsyncIterator[ApiKeys]:
    """Yield the keys in a database, by default the one in the settings.

    Raises:
        StartError: The database does not respond.
    """
    url = database_url or read_settings(ReportingSettings).database_url
    await database_answers(url)
    async with await open_pool(url, "reporting", SCHEMA, size=1, say=say) as pool:
        yield ApiKeys(pool, SystemClock())
