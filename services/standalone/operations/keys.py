"""Changes to API keys in the database, without a running service."""

from __future__ import annotations

import os
import pwd
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from contracts.scopes import ALL_SCOPES
from reporting.access.keys import ApiKeys, Maker
from reporting.access.log import AccessLog
from reporting.parts import SCHEMA
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.settings import read_settings
from servicekit.web.projects import ALL, ProjectSet
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]
EVERYWHERE = ProjectSet(ALL, (ALL,))
COMMAND: Final = "command line"
"""Prefix of the author recorded for changes made on the command line. The name of the system user follows."""


@dataclass(frozen=True, slots=True)
class KeyTables:
    """Keys of all tenants.

    Every change is recorded in the access log, like a change on the web page.
    """

    keys: ApiKeys
    log: AccessLog

    async def add(self, name: str, scopes: list[str], projects: list[str], days: int) -> str:
        """Create a key and return it."""
        key = await self.keys.add(name, scopes, projects, str(days), _maker())
        await self._note(key.tenant, f"key {key.name}: created with {' '.join(sorted(scopes))}")
        return key.secret

    async def revoke(self, id_: str) -> str:
        """Revoke a key and return its name."""
        revoked = await self.keys.revoke(id_, EVERYWHERE)
        await self._note(revoked.tenant, f"key {revoked.name}: revoked")
        return revoked.name

    async def _note(self, tenant: str, about: str) -> None:
        await self.log.note(operator(), tenant, None, "changed access", about)


def _maker() -> Maker:
    return Maker(operator(), ALL_SCOPES, EVERYWHERE)


def operator() -> str:
    """Return the operating system user's name, which is recorded as the author of a change."""
    try:
        return f"{COMMAND}: {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return COMMAND  # a container's user without a name


@asynccontextmanager
async def open_keys(database_url: str | None, say: Say) -> AsyncIterator[KeyTables]:
    """Yield the keys in a database, by default the one in the settings.

    Raises:
        StartError: The database does not respond.
    """
    url = database_url or read_settings(ReportingSettings).database_url
    await database_answers(url)
    async with await open_pool(url, "reporting", SCHEMA, size=1, say=say) as pool:
        clock = SystemClock()
        yield KeyTables(ApiKeys(pool, clock), AccessLog(pool, clock))
