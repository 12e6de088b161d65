"""Changes to operators' accounts and programs' keys in the database, without a running service."""

from __future__ import annotations

import os
import pwd
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from reporting.access.accounts import COMMAND, Accounts
from reporting.access.keys import ApiKeys
from reporting.access.log import AccessLog
from reporting.access.roles import ALL, ProjectSet
from reporting.parts import SCHEMA
from reporting.settings import ReportingSettings
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.settings import read_settings
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]
EVERYWHERE = ProjectSet(ALL, (ALL,))


@dataclass(frozen=True, slots=True)
class AccessTables:
    """Accounts and keys of all tenants.

    Every change is recorded in the access log, like a change on the web page.
    """

    accounts: Accounts
    keys: ApiKeys
    log: AccessLog

    async def on_account(self, action: str, name: str, done: str) -> Any:
        """Call the method `action` of `Accounts` for an account, and return its result.

        Args:
            done: Word for the change in the access log, such as "disabled".
        """
        found = await self.accounts.find(name, EVERYWHERE)
        result = await getattr(self.accounts, action)(found.name, EVERYWHERE)
        await self._note(found.access.tenant, f"account {found.name}: {done}")
        return result

    async def add_account(self, name: str, role: str, places: list[str]) -> str:
        """Add an account, and return the secret for the link with which its owner sets a password."""
        secret = await self.accounts.add(name, role, places, EVERYWHERE, operator())
        await self._note(ProjectSet.parse(places).tenant, f"account {name.strip().lower()}: added as {role}")
        return secret

    async def add_key(self, name: str, scopes: list[str], places: list[str], days: int) -> str:
        """Create a key and return it."""
        key = await self.keys.add(name, scopes, places, str(days), EVERYWHERE, operator())
        await self._note(ProjectSet.parse(places).tenant, f"key {name.strip()}: created")
        return key

    async def revoke_key(self, id_: str) -> str:
        """Revoke a key and return its name."""
        revoked = await self.keys.revoke(id_, EVERYWHERE)
        await self._note(revoked.tenant, f"key {revoked.name}: revoked")
        return revoked.name

    async def _note(self, tenant: str, about: str) -> None:
        await self.log.note(operator(), tenant, None, "changed access", about)


def operator() -> str:
    """Return the operating system user's name, which is recorded as the author of a change."""
    try:
        return f"{COMMAND}: {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return COMMAND  # a container's user without a name


@asynccontextmanager
async def open_access(database_url: str | None, say: Say) -> AsyncIterator[AccessTables]:
    """Yield the accounts and keys in a database, by default the one in the settings.

    Raises:
        StartError: The database does not respond.
    """
    url = database_url or read_settings(ReportingSettings).database_url
    await database_answers(url)
    async with await open_pool(url, "reporting", SCHEMA, size=1, say=say) as pool:
        clock = SystemClock()
        yield AccessTables(Accounts(pool, clock), ApiKeys(pool, clock), AccessLog(pool, clock))
