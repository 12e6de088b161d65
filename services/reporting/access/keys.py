"""API keys of colleagues and programs: authentication and administration.

A name belongs to one person or program for the whole life of the installation: a renewed key is the same caller.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg

from contracts.instants import DAY, MINUTE
from contracts.scopes import ALL_SCOPES
from reporting.access.log import AccessLog
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet

DEFAULT_DAYS: Final = 365
MOST_DAYS: Final = 3_650
MOST_KEYS: Final = 500
"""Maximum number of keys of a tenant."""
_NO_KEY: Final = "There is no such key, or it is not within your scopes and projects."
_PREFIX: Final = "afk_"
_KEY: Final = re.compile(_PREFIX + r"[A-Za-z0-9_-]{43}")


class NewKey(NamedTuple):
    """Secret of a new or renewed key, with the key's name."""

    secret: str
    name: str


class ApiKeys:
    """Administration and authentication of API keys.

    Every change is recorded in the access log. Nobody can give other people more access than they have themselves.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._log = AccessLog(pool, clock)

    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller for an API key, or None if the key is unknown or expired."""
        if not _KEY.fullmatch(token):
            return None
        now = self._clock.now()
        row = await self._pool.fetchrow(*SQL.use_api_key(key_hash=_digest(token), now=now, before=now - MINUTE))
        if row is None:
            return None
        return ProjectSet(row["tenant"], tuple(row["projects"])).member(row["name"], frozenset(row["scopes"]))

    async def add(self, name: str, scopes: Sequence[str], projects: Sequence[str], days: str, maker: Caller) -> NewKey:
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
        if not ProjectSet.of(maker).covers(access):
            raise RequestRefused(403, "You may create keys for your own projects only.")
        if await self._pool.fetchval(*SQL.count_api_keys(tenant=access.tenant)) >= MOST_KEYS:
            raise RequestRefused(409, f"A tenant has at most {MOST_KEYS} keys: revoke one first.")
        secret, now = _new_secret(), self._clock.now()
        statement = SQL.add_api_key(
            id=uuid4(),
            name=name,
            key_hash=_digest(secret),
            tenant=access.tenant,
            projects=list(access.projects),
            scopes=sorted({*scopes}),
            by=maker.subject,
            now=now,
            expires_at=now + _span(days),
        )
        if await self._pool.fetchval(*statement) is None:
            raise RequestRefused(409, "This name is taken: renew its key, or choose another name.")
        await self._note(maker, access.tenant, f"key {name}: created with {' '.join(sorted({*scopes}))}")
        return NewKey(secret, name)

    async def renew(self, id_: str, days: str, maker: Caller) -> NewKey:
        """Replace the secret of a key, which may be expired or revoked. Its holder keeps the name.

        Raises:
            RequestRefused: If there is no such key, or the maker lacks one of its scopes or projects.
        """
        secret = _new_secret()
        values = {"key_hash": _digest(secret), "expires_at": self._clock.now() + _span(days)}
        limits = {"tenant": maker.tenant, "projects": maker.projects, "scopes": sorted(maker.scopes)}
        row = await self._pool.fetchrow(*SQL.renew_api_key(id=_id(id_), **values, **limits))
        if row is None:
            raise RequestRefused(404, _NO_KEY)
        await self._note(maker, row["tenant"], f"key {row['name']}: renewed")
        return NewKey(secret, row["name"])

    async def list(self, caller: Caller) -> Sequence[asyncpg.Record]:
        """Return the keys that have only projects of the caller, sorted by name, with the revoked ones last.

        Projects are written as `tenant/project`, and times are in microseconds.
        """
        limits = {"tenant": caller.tenant, "projects": caller.projects, "limit": 2 * MOST_KEYS}
        return await self._pool.fetch(*SQL.list_api_keys(**limits))

    async def revoke(self, id_: str, revoker: Caller) -> str:
        """Revoke a key and return its name.

        Raises:
            RequestRefused: If there is no such key, or it has a project that the revoker lacks.
        """
        statement = SQL.revoke_api_key(id=_id(id_), tenant=revoker.tenant, projects=revoker.projects)
        row = await self._pool.fetchrow(*statement)
        if row is None:
            raise RequestRefused(404, _NO_KEY)
        await self._note(revoker, row["tenant"], f"key {row['name']}: revoked")
        return str(row["name"])

    async def _note(self, caller: Caller, tenant: str, about: str) -> None:
        await self._log.note(caller.subject, tenant, None, "changed access", about)


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
