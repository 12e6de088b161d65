"""Operator accounts and their administration.

Callers can manage an account only if they may use all of its projects themselves.
"""

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
"""Prefix of the author recorded for changes made on the command line. The name of the system user follows."""
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
    """Issuer URL of the identity provider, or None if the account signs in with a password."""

    @property
    def state(self) -> str:
        if self.disabled_at is not None:
            return "disabled"
        return "invited" if self.password_at is None and self.issuer is None else "active"


class Accounts:
    """Administration of operator accounts.

    The methods take the caller's projects as `within`. If an account has a project outside `within`, they raise the
    same RequestRefused as for an unknown account.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._attempts = SignInAttempts(pool)

    async def add(self, name: str, role: str, places: Sequence[str], within: ProjectSet, by: str) -> str:
        """Add an account and return the secret of the link for setting its password.

        Args:
            places: The account's projects, as `tenant/project`.
            within: The caller's projects.
            by: Name recorded as the account's creator.

        Raises:
            RequestRefused: If an argument is invalid, the name is taken, or the caller lacks one of the projects.
        """
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
        """Replace the role and projects of an account.

        Open sessions of the account stay open and get the new rights.
        """
        account, access, kind = await self.find(name, within), ProjectSet.parse(places), role_of(role)
        if account.issuer is not None:
            raise RequestRefused(409, _OF_PROVIDER)
        if not within.covers(access):
            raise RequestRefused(403, "You may give access to your own projects only.")
        values = {"tenant": access.tenant, "projects": list(access.projects), "role": kind}
        await self._pool.execute(*SQL.change_account(name=account.name, **values))

    async def link(self, name: str, within: ProjectSet) -> str:
        """Create a link for setting the account's password and return its secret.

        The account's previous link stops working. Its count of failed sign-ins is reset.
        """
        account = await self.find(name, within)
        if account.issuer is not None:
            raise RequestRefused(409, _OF_PROVIDER)
        if account.disabled_at is not None:
            raise RequestRefused(409, "This account is disabled: enable it first.")
        await self._attempts.forget(account.name)
        return await self._new_link(account.name)

    async def disable(self, name: str, within: ProjectSet) -> None:
        """Disable an account, end its sessions and invalidate its password link."""
        account = await self.find(name, within)
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.set_account_disabled(name=account.name, disabled_at=self._clock.now()))
            await connection.execute(*SQL.end_sessions(name=account.name, kept=None))
            await connection.execute(*SQL.drop_account_link(name=account.name))

    async def enable(self, name: str, within: ProjectSet) -> None:
        """Enable a disabled account, so that its password works again."""
        account = await self.find(name, within)
        await self._pool.execute(*SQL.set_account_disabled(name=account.name, disabled_at=None))

    async def remove(self, name: str, within: ProjectSet) -> None:
        """Remove an account with its password and sessions."""
        account = await self.find(name, within)
        await self._pool.execute(*SQL.remove_account(name=account.name))

    async def list(self, within: ProjectSet) -> Sequence[OperatorAccount]:
        """Return the accounts whose projects are all in `within`, sorted by name.

        Returns at most MOST_ACCOUNTS accounts.
        """
        tenant = None if within.tenant == ALL else within.tenant
        names = None if within.projects == (ALL,) else [*within.projects]
        rows = await self._pool.fetch(*SQL.list_accounts(tenant=tenant, projects=names, limit=MOST_ACCOUNTS))
        return [account_of(row) for row in rows]

    async def find(self, name: str, within: ProjectSet) -> OperatorAccount:
        """Return an account by name.

        Raises:
            RequestRefused: If the account does not exist or has a project outside `within`.
        """
        row = await self._pool.fetchrow(*SQL.find_account(name=account_name(name)))
        if row is None or not within.covers(account_of(row).access):
            raise RequestRefused(404, _UNKNOWN)
        return account_of(row)

    async def has_password(self, name: str) -> bool:
        """Return True if the account signs in with a password rather than through the identity provider."""
        return bool(await self._pool.fetchval(*SQL.account_has_password(name=name)))

    async def _new_link(self, name: str) -> str:
        secret, expires = new_secret(LINK), self._clock.now() + LINK_DAYS * DAY
        await self._pool.execute(*SQL.set_account_link(name=name, link_hash=digest(secret), expires_at=expires))
        return secret


def account_of(row: asyncpg.Record) -> OperatorAccount:
    """Convert a database row to an account."""
    access = ProjectSet(row["tenant"], tuple(row["projects"]))
    times = (row["created_at"], row["created_by"], row["password_at"], row["disabled_at"], row["issuer"])
    return OperatorAccount(row["name"], row["role"], access, *times)
