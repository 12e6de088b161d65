"""Sign-in through an identity provider.

Depending on the provider's claims, a sign-in creates an account, updates it, or ends its sessions.
"""

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
"""Author recorded for accounts that are created by a sign-in."""
_TAKEN: Final = (
    "An account with your name exists, but it belongs to another sign-in. An administrator has to remove it first."
)
_DISABLED: Final = "Your account is disabled. Ask an administrator."


class Admission:
    """Sign-in for people with verified claims of the identity provider.

    The claims determine the role and projects of the person's account.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, provider: IdentityProvider, log: AccessLog) -> None:
        self._pool = pool
        self._clock = clock
        self.provider = provider
        self._log = log

    async def admit(self, claims: Mapping[str, Any]) -> str:
        """Sign in the person described by verified claims and return the secret of the new session.

        The account is created at the first sign-in. It is updated if the claims now grant other rights.

        Raises:
            RequestRefused: If the claims do not allow the sign-in, or the account is disabled. In the first case, the
                person's existing sessions are ended.
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
