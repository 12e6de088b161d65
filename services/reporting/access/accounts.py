"""Operator accounts, and their administration within the projects of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.instants import DAY
from reporting.access.attempts import SignInAttempts
from reporting.access.roles import ALL, ProjectSet, Role, account_name, role_of
from reporting.access.secret_values import LINK, digest, new_secret
from reporting.sql import SQL
from servicekit import Clock, RequestRefused

LINK_DAYS: Final = 2
MOST_ACCOUNTS: Final = 1_000
COMMAND: Final = "command line"
"""Prefix of the recorded author of changes by the command line; the operating system's user name follows."""
_OF_PROVIDER: Final = "The identity provider manages this account and its role: change the person's groups there."
_UNKNOWN: Final = "There is no such account, or it is not within your projects."


@dataclass(frozen=True, slots=True)
class OperatorAccount:
    """Account of an operator. Times are in microseconds."""

    name: str
    role: Role
    access: ProjectSet
    created_at: int
    created_by: str
    password_at: int | None
    disabled_at: int | None
    issuer: str | None = None
    """The identity provider; None for an account with a password."""

    @property
    def state(self) -> str:
        if self.disabled_at is not None:
            return "disabled"
        return "invited" if self.password_at is None and self.issuer is None else "active"


class Accounts:
    """Administration of accounts. Each operation is limited to accounts with all projects in `within`.

    Operations raise RequestRefused; the error is the same for an unknown account and for an account of another tenant.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._attempts = SignInAttempts(pool)

    async def add(self, name: str, role: str, places: Sequence[str], within: ProjectSet, by: str) -> str:
        """Add an account. Return the secret of the link with which the owner sets a password."""
        name, access, kind = account_name(name), ProjectSet.parse(places), role_of(role)
        if not within.covers(access):
            raise RequestRefused(403, "You may add accounts for your own projects only.")
        values = {"tenant": access.tenant, "projects": list(access.projects), "role": kind}
        added = await self._pool.execute(*SQL.add_account(name=name, **values, now=self._clock.now(), by=by))
        if added.endswith(" 0"):
            raise RequestRefused(
                409, "An account with this name already exists. Choose another name, or change the existing account."
            )
        return await self._new_link(name)

    async def change(self, name: str, role: str, places: Sequence[str], within: ProjectSet) -> None:
        """Replace an account's role and projects; its sessions continue with the new role and projects."""
        account, access, kind = await self.find(name, within), ProjectSet.parse(places), role_of(role)
        if account.issuer is not None:
            raise RequestRefused(409, _OF_PROVIDER)
        if not within.covers(access):
            raise RequestRefused(403, "You may give access to your own projects only.")
        values = {"tenant": access.tenant, "projects": list(access.projects), "role": kind}
        await self._pool.execute(*SQL.change_account(name=account.name, **values))

    async def link(self, name: str, within: ProjectSet) -> str:
        """Return the secret of a new link to set a password; an earlier link stops working."""
        account = await self.find(name, within)
        if account.issuer is not None:
            raise RequestRefused(409, _OF_PROVIDER)
        if account.disabled_at is not None:
            raise RequestRefused(409, "This account is disabled: enable it first.")
        await self._attempts.forget(account.name)
        return await self._new_link(account.name)

    async def disable(self, name: str, within: ProjectSet) -> None:
        """Disable an account: its sessions and its link end."""
        account = await self.find(name, within)
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.set_account_disabled(name=account.name, disabled_at=self._clock.now()))
            await connection.execute(*SQL.end_sessions(name=account.name, kept=None))
            await connection.execute(*SQL.drop_account_link(name=account.name))

    async def enable(self, name: str, within: ProjectSet) -> None:
        """Enable a disabled account; its password works again."""
        account = await self.find(name, within)
        await self._pool.execute(*SQL.set_account_disabled(name=account.name, disabled_at=None))

    async def remove(self, name: str, within: ProjectSet) -> None:
        """Remove an account with its password and sessions."""
        account = await self.find(name, within)
        await self._pool.execute(*SQL.remove_account(name=account.name))

    async def list(self, within: ProjectSet) -> Sequence[OperatorAccount]:
        """Return at most 1,000 accounts that have all their projects in `within`, sorted by name."""
        tenant = None if within.tenant == ALL else within.tenant
        names = None if within.projects == (ALL,) else [*within.projects]
        rows = await self._pool.fetch(*SQL.list_accounts(tenant=tenant, projects=names, limit=MOST_ACCOUNTS))
        return [account_of(row) for row in rows]

    async def find(self, name: str, within: ProjectSet) -> OperatorAccount:
        """Return an account. Raises RequestRefused if it is unknown, or if a project of it is not in `within`."""
        row = await self._pool.fetchrow(*SQL.find_account(name=account_name(name)))
        if row is None or not within.covers(account_of(row).access):
            raise RequestRefused(404, _UNKNOWN)
        return account_of(row)

    async def has_password(self, name: str) -> bool:
        """Return True if an account signs in with a password, False if it signs in with the identity provider."""
        return bool(await self._pool.fetchval(*SQL.account_has_password(name=name)))

    async def _new_link(self, name: str) -> str:
        secret, expires = new_secret(LINK), self._clock.now() + LINK_DAYS * DAY
        await self._pool.execute(*SQL.set_account_link(name=name, link_hash=digest(secret), expires_at=expires))
        return secret


def account_of(row: asyncpg.Record) -> OperatorAccount:
    """Return the account from a database row."""
    access = ProjectSet(row["tenant"], tuple(row["projects"]))
    times = (row["created_at"], row["created_by"], row["password_at"], row["disabled_at"], row["issuer"])
    return OperatorAccount(row["name"], row["role"], access, *times)
