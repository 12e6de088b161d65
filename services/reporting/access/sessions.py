"""Sign-in with a password, and sessions authenticated by cookies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import asyncpg

from contracts.instants import DAY
from reporting.access.attempts import SignInAttempts
from reporting.access.identity_provider import IdentityProvider
from reporting.access.passwords import LONGEST, SHORTEST, Passwords
from reporting.access.roles import SCOPES, ProjectSet, is_account_name
from reporting.access.secret_values import LINK, SESSION, digest, is_secret, new_secret
from reporting.sql import SQL
from servicekit import Caller, Clock, RequestRefused

SUBJECT: Final = "account:"
"""Prefix of the caller's subject if the caller has an account; the account's name follows.

It distinguishes the account from a person in a chat with the same name.
"""
REMEMBERED_SECONDS: Final = 2.0
"""Time for which a process caches a looked-up session, in seconds."""
_MOST_REMEMBERED: Final = 5_000
_NO_LINK: Final = "This link has expired or was used. Ask for a new one: `agent-feedback users link NAME`."


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Outcome of a sign-in: the session's secret, or None if it failed, and the seconds to wait (0 if allowed)."""

    session: str | None
    wait: int = 0

    @property
    def wait_in_words(self) -> str:
        return minutes(self.wait)


class AdmissionPort(Protocol):
    """Port for sign-in with the claims of an identity provider; implemented in `admission.py`."""

    @property
    def provider(self) -> IdentityProvider: ...

    async def admit(self, claims: Mapping[str, Any]) -> str: ...


class AccountSessions:
    """Sessions of accounts. A session ends after `days`, or when its account is disabled or the password changes.

    A session with the identity provider ends after the time that the provider's file sets. `admission` is None without
    a provider.
    """

    password_length = (SHORTEST, LONGEST)

    def __init__(
        self,
        pool: asyncpg.Pool,
        clock: Clock,
        days: float,
        passwords: Passwords | None = None,
        admission: AdmissionPort | None = None,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._lifetime = int(days * DAY)
        self._passwords = passwords or Passwords()
        self._attempts = SignInAttempts(pool)
        self._admission = admission
        self._remembered: dict[bytes, tuple[float, Caller]] = {}

    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller with this session secret; None if it is invalid. Results are cached for two seconds."""
        if not is_secret(token, SESSION):
            return None
        session, now = digest(token), self._clock.monotonic()
        known = self._remembered.get(session)
        if known is not None and now - known[0] < REMEMBERED_SECONDS:
            return known[1]
        moment = self._clock.now()
        values = {"session_hash": session, "now": moment, "oldest": moment - self._lifetime}
        row = await self._pool.fetchrow(*SQL.find_session(**values))
        if row is None:
            self._remembered.pop(session, None)
            return None
        access = ProjectSet(row["tenant"], tuple(row["projects"]))
        caller = access.caller(SUBJECT + row["name"], SCOPES[row["role"]])
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[session] = (now, caller)
        return caller

    async def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Check a name and a password sent from `address`.

        The check takes the same time for an unknown name, so that its duration does not reveal if an account exists.
        """
        name = name.strip().lower()
        known = name if is_account_name(name) else ""
        if wait := await self._attempts.wait(name, address, self._clock.now()):
            return SignedIn(None, wait)
        stored = await self._pool.fetchval(*SQL.find_password(name=known))
        if not await self._passwords.matches(stored, password):
            return SignedIn(None)
        session = await self._begin(self._pool, name, stored)
        if session is not None:
            await self._attempts.succeeded(name, address)
        return SignedIn(session)

    async def account_of_link(self, link: str) -> str | None:
        """Return the name of the account that this link lets set a password; None if the link is invalid."""
        if not is_secret(link, LINK):
            return None
        now = self._clock.now()
        name: str | None = await self._pool.fetchval(*SQL.find_account_by_link(link_hash=digest(link), now=now))
        return name

    async def use_link(self, link: str, password: str) -> str:
        """Set a password with a single-use link, end all sessions of the account, and return a new session's secret.

        Raises RequestRefused if the link or the password is invalid.
        """
        if await self.account_of_link(link) is None:
            raise RequestRefused(410, _NO_LINK)
        stored, now = await self._passwords.hashed(password), self._clock.now()
        async with self._pool.acquire() as connection, connection.transaction():
            values = {"link_hash": digest(link), "password_hash": stored, "now": now}
            name: str | None = await connection.fetchval(*SQL.use_account_link(**values))
            if name is None:
                raise RequestRefused(410, _NO_LINK)
            await connection.execute(*SQL.note_password(name=name, now=now))
            await connection.execute(*SQL.end_sessions(name=name, kept=None))
            session = await self._begin(connection, name, stored)
        await self._attempts.forget(name)
        self._remembered.clear()
        if session is None:
            raise RequestRefused(410, _NO_LINK)
        return session

    async def change_password(self, session: str, name: str, before: str, password: str, address: str) -> None:
        """Replace an account's password and end its other sessions.

        Raises RequestRefused if the password `before` is wrong, if `password` is invalid, or after too many attempts.
        """
        if wait := await self._attempts.wait(name, address, self._clock.now()):
            raise RequestRefused(429, f"There were too many attempts: wait {minutes(wait)}.", retry_after=wait)
        stored = await self._pool.fetchval(*SQL.find_password(name=name))
        if stored is None or not await self._passwords.matches(stored, before):
            raise RequestRefused(403, "The current password is wrong.")
        hashed, now = await self._passwords.hashed(password), self._clock.now()
        async with self._pool.acquire() as connection, connection.transaction():
            values = {"name": name, "password_hash": hashed, "before": stored}
            if await connection.fetchval(*SQL.set_password(**values)) is None:
                raise RequestRefused(409, "The password was changed at the same time.")
            await connection.execute(*SQL.note_password(name=name, now=now))
            await connection.execute(*SQL.drop_account_link(name=name))
            await connection.execute(*SQL.end_sessions(name=name, kept=digest(session)))
        await self._attempts.succeeded(name, address)
        self._remembered.clear()

    async def end(self, session: str) -> bool:
        """End a session. Return True if it began with the identity provider."""
        self._remembered.pop(digest(session), None)
        ended: bool | None = await self._pool.fetchval(*SQL.end_session(session_hash=digest(session)))
        return bool(ended)

    @property
    def provider(self) -> IdentityProvider | None:
        return None if self._admission is None else self._admission.provider

    async def may_ask_provider(self, address: str) -> SignedIn:
        """Count an attempt to sign in with the identity provider. The result has the seconds to wait; 0 if allowed."""
        return SignedIn(None, await self._attempts.wait_for_provider(address, self._clock.now()))

    async def admit(self, claims: Mapping[str, Any], address: str) -> str:
        """Return the secret of a new session for verified claims. Raises RequestRefused if they give no access."""
        assert self._admission is not None, "no identity provider"
        session = await self._admission.admit(claims)
        await self._attempts.provider_succeeded(address)
        self._remembered.clear()
        return session

    def forget(self) -> None:
        """Clear the session cache, because an account has changed."""
        self._remembered.clear()

    async def _begin(self, connection: Any, name: str, stored: str) -> str | None:
        session = new_secret(SESSION)
        values = {"session_hash": digest(session), "password_hash": stored, "name": name, "now": self._clock.now()}
        begun = await connection.fetchval(*SQL.add_session(**values))
        return None if begun is None else session


def minutes(seconds: int) -> str:
    """Return a duration in seconds as text, in whole minutes rounded up."""
    count = -(-seconds // 60)
    return "a minute" if count == 1 else f"{count} minutes"
