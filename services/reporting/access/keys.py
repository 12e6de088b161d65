"""API keys of colleagues and programs: authentication and administration.

A name belongs to one person or program for the whole life of the installation: a renewed key is the same caller.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self
from uuid import UUID, uuid4

import asyncpg

from contracts.instants import DAY, MINUTE
from contracts.scopes import ADMIN, ALL_SCOPES
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet

DEFAULT_DAYS: Final = 365
MOST_DAYS: Final = 3_650
MOST_KEYS: Final = 500
"""Maximum number of keys of a tenant."""
REMEMBERED_SECONDS: Final = 2.0
"""Time in seconds for which a process caches a key."""
_MOST_REMEMBERED: Final = 5_000
_NO_KEY: Final = "There is no such key, or it is not within your scopes and projects."
_ALL: Final = "*"
_PREFIX: Final = "afk_"
_KEY: Final = re.compile(_PREFIX + r"[A-Za-z0-9_-]{43}")


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
    is_revoked: bool


class NewKey(NamedTuple):
    """Secret of a new or renewed key, with the key's name and tenant."""

    secret: str
    name: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Maker:
    """Maker of a key. Nobody can give other people more access than they have themselves.

    `name` is recorded as the author of the key.
    """

    name: str
    scopes: frozenset[str]
    projects: ProjectSet

    @classmethod
    def of(cls, caller: Caller) -> Self:
        """Return the caller as a maker of keys. Raises RequestRefused if the caller may not make keys."""
        if ADMIN not in caller.scopes:
            raise RequestRefused(403, "To manage keys you need the scope admin.")
        return cls(caller.subject, caller.scopes, ProjectSet.of(caller))


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
        if not _KEY.fullmatch(token):
            return None
        hashed, monotonic, now = _digest(token), self._clock.monotonic(), self._clock.now()
        remembered = self._remembered.get(hashed)
        if remembered is not None and monotonic - remembered[0] < REMEMBERED_SECONDS and now < remembered[1]:
            return remembered[2]
        self._remembered.pop(hashed, None)
        row = await self._pool.fetchrow(*SQL.find_api_key(key_hash=hashed, now=now))
        if row is None:
            return None
        await self._pool.execute(*SQL.note_api_key_use(id=row["id"], now=now, before=now - MINUTE))
        access = ProjectSet(row["tenant"], tuple(row["projects"]))
        caller = access.member(row["name"], frozenset(row["scopes"]))
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[hashed] = (monotonic, row["expires_at"], caller)
        return caller

    async def add(self, name: str, scopes: Sequence[str], projects: Sequence[str], days: str, maker: Maker) -> NewKey:
        """Create an API key. Its secret is not stored.

        Args:
            projects: The projects of the key, as `tenant/project`.
            days: Validity of the key in days, 1 to MOST_DAYS, as entered by the user.

        Raises:
            RequestRefused: If an argument is invalid, the maker lacks one of the scopes or projects, the name is taken,
                or the tenant has too many keys.
        """
        try:
            name, access = ProjectSet.member_name(name), ProjectSet.parse(projects)
        except ValueError as error:
            raise RequestRefused(422, str(error)) from None
        if not scopes or not ALL_SCOPES.issuperset(scopes):
            raise RequestRefused(422, f"Choose one or more of the scopes {', '.join(sorted(ALL_SCOPES))}.")
        if not maker.scopes.issuperset(scopes):
            raise RequestRefused(403, "You may give scopes that you have yourself only.")
        if not maker.projects.covers(access):
            raise RequestRefused(403, "You may create keys for your own projects only.")
        if await self._pool.fetchval(*SQL.count_api_keys(tenant=access.tenant)) >= MOST_KEYS:
            raise RequestRefused(409, f"A tenant has at most {MOST_KEYS} keys: revoke one first.")
        secret, now = _new_secret(), self._clock.now()
        values = {"tenant": access.tenant, "projects": list(access.projects), "scopes": sorted({*scopes})}
        added = await self._pool.fetchval(
            *SQL.add_api_key(
                id=uuid4(),
                name=name,
                key_hash=_digest(secret),
                by=maker.name,
                now=now,
                expires_at=now + _span(days),
                **values,
            )
        )
        if added is None:
            raise RequestRefused(409, "This name is taken: renew its key, or choose another name.")
        return NewKey(secret, name, access.tenant)

    async def renew(self, id_: str, days: str, maker: Maker) -> NewKey:
        """Replace the secret of a key, which may be expired or revoked. Its holder keeps the name.

        Raises:
            RequestRefused: If there is no such key, or the maker lacks one of its scopes or projects.
        """
        secret = _new_secret()
        values = {"key_hash": _digest(secret), "expires_at": self._clock.now() + _span(days)}
        limits = {**_limits(maker.projects), "scopes": sorted(maker.scopes)}
        row = await self._pool.fetchrow(*SQL.renew_api_key(id=_id(id_), **values, **limits))
        if row is None:
            raise RequestRefused(404, _NO_KEY)
        self._remembered.clear()
        return NewKey(secret, row["name"], row["tenant"])

    async def list(self, within: ProjectSet) -> Sequence[ApiKey]:
        """Return the keys whose projects are all in `within`, sorted by name, with the revoked ones last."""
        rows = await self._pool.fetch(*SQL.list_api_keys(**_limits(within), limit=2 * MOST_KEYS))
        keys = [dict(row) for row in rows]
        return [ApiKey(access=ProjectSet(key.pop("tenant"), tuple(key.pop("projects"))), **key) for key in keys]

    async def revoke(self, id_: str, within: ProjectSet) -> RevokedKey:
        """Revoke a key.

        Other processes may still accept it until their caches expire, after at most REMEMBERED_SECONDS.

        Raises:
            RequestRefused: If there is no such key, or it has a project outside `within`.
        """
        row = await self._pool.fetchrow(*SQL.revoke_api_key(id=_id(id_), **_limits(within)))
        if row is None:
            raise RequestRefused(404, _NO_KEY)
        self._remembered.clear()
        return RevokedKey(row["name"], row["tenant"])


def _new_secret() -> str:
    """Generate a secret: the prefix, then 256 random bits in URL-safe base64."""
    return _PREFIX + secrets.token_urlsafe(32)


def _digest(secret: str) -> bytes:
    """Return the SHA-256 digest of a key. A slow password hash is unnecessary, because a key has 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise RequestRefused(404, _NO_KEY) from None


def _span(days: str) -> int:
    """Return a number of days, as entered by the user, in microseconds."""
    if not (days.isascii() and days.isdecimal() and len(days) <= 4 and 0 < int(days) <= MOST_DAYS):
        raise RequestRefused(422, f"A key is valid for 1 to {MOST_DAYS} days.")
    return int(days) * DAY


def _limits(within: ProjectSet) -> dict[str, str | list[str] | None]:
    tenant = None if within.tenant == _ALL else within.tenant
    return {"tenant": tenant, "projects": None if within.projects == (_ALL,) else [*within.projects]}
