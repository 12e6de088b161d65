"""Sign-in with an identity provider: its claims create an account, change it, or end its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import asyncpg

from contracts.instants import DAY
from reporting.access.identity_provider import (
    NO_GROUP,
    IdentityProvider,
    ProviderPerson,
    access_of,
    person_of,
    subject_of,
)
from reporting.access.log import AccessLog
from reporting.access.roles import ProjectSet, Role
from reporting.access.secret_values import SESSION, digest, new_secret
from reporting.access.sessions import SUBJECT
from reporting.sql import SQL
from servicekit import Clock, RequestRefused

BY: Final = "identity provider"
"""Recorded author of accounts that a sign-in creates."""
_TAKEN: Final = (
    "An account with your name exists, but it belongs to another sign-in. An administrator has to remove it first."
)
_DISABLED: Final = "Your account is disabled. Ask an administrator."


class Admission:
    """Sign-in with verified claims of the identity provider, which determine the account's role and projects."""

    def __init__(self, pool: asyncpg.Pool, clock: Clock, provider: IdentityProvider, log: AccessLog) -> None:
        self._pool = pool
        self._clock = clock
        self.provider = provider
        self._log = log

    async def admit(self, claims: Mapping[str, Any]) -> str:
        """Return the secret of a new session.

        Raises RequestRefused if the claims give no access, and then ends all of the person's sessions.
        """
        file = self.provider.file
        known = {"issuer": file.issuer, "subject": subject_of(claims)}
        try:
            person, granted = person_of(claims, file), access_of(claims, file)
            if granted is None:
                raise RequestRefused(403, NO_GROUP)
        except RequestRefused:
            await self._pool.execute(*SQL.end_sessions_of_subject(**known))
            raise
        session, now = new_secret(SESSION), self._clock.now()
        async with self._pool.acquire() as connection, connection.transaction():
            row = await connection.fetchrow(*SQL.lock_account_of_subject(**known))
            if row is None:
                name, changed = await self._added(connection, person, *granted), True
            elif row["disabled_at"] is not None:
                raise RequestRefused(403, _DISABLED)
            else:
                name, changed = row["name"], await self._changed(connection, row, *granted)
            ends = {"now": now, "expires_at": now + int(file.session_hours * DAY / 24)}
            await connection.execute(*SQL.add_provider_session(session_hash=digest(session), name=name, **ends))
            if changed:
                role, access = granted
                about = f"account {name}: {role} by the {BY}"
                for tenant in {access.tenant, access.tenant if row is None else row["tenant"]}:
                    await self._log.note(SUBJECT + name, tenant, None, "changed access", about, connection)
        return session

    async def _added(self, connection: Any, person: ProviderPerson, role: Role, access: ProjectSet) -> str:
        places = {"tenant": access.tenant, "projects": list(access.projects), "role": role}
        known = {"issuer": self.provider.issuer, "subject": person.subject}
        values = {"name": person.name, **places, **known, "now": self._clock.now(), "by": BY}
        if await connection.fetchval(*SQL.add_provider_account(**values)) is not None:
            return person.name
        row = await connection.fetchrow(*SQL.lock_account_of_subject(**known))  # a concurrent sign-in added it
        if row is None:
            raise RequestRefused(403, _TAKEN)
        return str(row["name"])

    async def _changed(self, connection: Any, row: asyncpg.Record, role: Role, access: ProjectSet) -> bool:
        places = {"tenant": access.tenant, "projects": list(access.projects), "role": role}
        if all(row[name] == value for name, value in places.items()):
            return False
        await connection.execute(*SQL.change_account(name=row["name"], **places))
        return True
