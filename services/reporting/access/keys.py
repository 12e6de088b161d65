"""API keys for programs: authentication and administration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg

from contracts.instants import DAY, MINUTE
from contracts.scopes import ALL_SCOPES
from reporting.access.roles import ALL, ProjectSet
from reporting.access.secret_values import KEY, digest, is_secret, new_secret
from reporting.sql import SQL
from servicekit import Caller, Clock, RequestRefused

SUBJECT: Final = "key:"
"""Prefix of the subject of a caller that uses an API key. The id of the key follows."""
DEFAULT_DAYS: Final = 365
MOST_DAYS: Final = 3_650
MOST_KEYS: Final = 500
"""Maximum number of keys of a tenant."""
REMEMBERED_SECONDS: Final = 2.0
"""Time in seconds for which a process caches a key."""
_MOST_REMEMBERED: Final = 5_000
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class ApiKey:
    """API key without its secret. Times are in microseconds."""

    id: UUID
    name: str
    access: ProjectSet
    scopes: Sequence[str]
    created_at: int
    created_by: str
    expires_at: int
    used_at: int | None


class RevokedKey(NamedTuple):
    """Name and tenant of a revoked key."""

    name: str
    tenant: str


class ApiKeys:
    """Administration and authentication of API keys."""

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._remembered: dict[bytes, tuple[float, int, Caller]] = {}

    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller for an API key, or None if the key is unknown or expired.

        Results are cached for REMEMBERED_SECONDS.
        """
        if not is_secret(token, KEY):
            return None
        hashed, monotonic, now = digest(token), self._clock.monotonic(), self._clock.now()
        known = self._remembered.get(hashed)
        if known is not None and monotonic - known[0] < REMEMBERED_SECONDS and now < known[1]:
            return known[2]
        self._remembered.pop(hashed, None)
        row = await self._pool.fetchrow(*SQL.find_api_key(key_hash=hashed, now=now))
        if row is None:
            return None
        await self._pool.execute(*SQL.note_api_key_use(id=row["id"], now=now, before=now - MINUTE))
        access = ProjectSet(row["tenant"], tuple(row["projects"]))
        caller = access.caller(f"{SUBJECT}{row['id']}", frozenset(row["scopes"]))
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[hashed] = (monotonic, row["expires_at"], caller)
        return caller

    async def add(
        self, name: str, scopes: Sequence[str], places: Sequence[str], days: str, within: ProjectSet, by: str
    ) -> str:
        """Create an API key and return its secret, which is not stored.

        Args:
            places: The projects of the key, as `tenant/project`.
            days: Validity of the key in days, 1 to MOST_DAYS, as entered by the user.
            within: The caller's projects.
            by: Name recorded as the key's creator.

        Raises:
            RequestRefused: If an argument is invalid, the caller lacks one of the projects, or the tenant has too many
                keys.
        """
        name, access = name.strip(), ProjectSet.parse(places)
        if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
            raise RequestRefused(422, f"A key needs a name of at most {_LONGEST_NAME} characters, for example: crm.")
        if not scopes or not ALL_SCOPES.issuperset(scopes):
            raise RequestRefused(422, f"Choose one or more of the scopes {', '.join(sorted(ALL_SCOPES))}.")
        if not (days.isascii() and days.isdecimal() and len(days) <= 4 and 0 < int(days) <= MOST_DAYS):
            raise RequestRefused(422, f"A key is valid for 1 to {MOST_DAYS} days.")
        if not within.covers(access):
            raise RequestRefused(403, "You may create keys for your own projects only.")
        if await self._pool.fetchval(*SQL.count_api_keys(tenant=access.tenant)) >= MOST_KEYS:
            raise RequestRefused(409, f"A tenant has at most {MOST_KEYS} keys: revoke one first.")
        secret, now = new_secret(KEY), self._clock.now()
        values = {"tenant": access.tenant, "projects": list(access.projects), "scopes": sorted({*scopes})}
        times = {"now": now, "expires_at": now + int(days) * DAY}
        await self._pool.execute(
            *SQL.add_api_key(id=uuid4(), name=name, key_hash=digest(secret), by=by, **values, **times)
        )
        return secret

    async def list(self, within: ProjectSet) -> Sequence[ApiKey]:
        """Return the keys whose projects are all in `within`, sorted by name."""
        rows = await self._pool.fetch(*SQL.list_api_keys(**_limits(within), limit=MOST_KEYS))
        return [
            ApiKey(
                row["id"],
                row["name"],
                ProjectSet(row["tenant"], tuple(row["projects"])),
                row["scopes"],
                row["created_at"],
                row["created_by"],
                row["expires_at"],
                row["used_at"],
            )
            for row in rows
        ]

    async def revoke(self, id_: str, within: ProjectSet) -> RevokedKey:
        """Revoke a key.

        Other processes may still accept it until their caches expire, after at most REMEMBERED_SECONDS.

        Raises:
            RequestRefused: If there is no such key, or it has a project outside `within`.
        """
        try:
            key = UUID(id_)
        except ValueError:
            raise RequestRefused(404, "There is no such key.") from None
        row = await self._pool.fetchrow(*SQL.revoke_api_key(id=key, **_limits(within)))
        if row is None:
            raise RequestRefused(404, "There is no such key, or it is not within your projects.")
        self._remembered.clear()
        return RevokedKey(row["name"], row["tenant"])


def _limits(within: ProjectSet) -> dict[str, str | list[str] | None]:
    tenant = None if within.tenant == ALL else within.tenant
    return {"tenant": tenant, "projects": None if within.projects == (ALL,) else [*within.projects]}
