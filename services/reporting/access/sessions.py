"""Password sign-in and cookie-based sessions."""

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
"""Prefix of the subject of a caller that has an account. The account name follows.

The prefix distinguishes an account from a chat user with the same name.
"""
REMEMBERED_SECONDS: Final = 2.0
"""Time in seconds for which a process caches a session."""
_MOST_REMEMBERED: Final = 5_000
_NO_LINK: Final = "This link has expired or was used. Ask for a new one: `agent-feedback users link NAME`."


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Outcome of a sign-in attempt.

    Attributes:
        session: Secret of the new session, or None if the attempt failed.
        wait: Seconds until the next attempt is allowed, or 0.
    """

    session: str | None
    wait: int = 0

    @property
    def wait_in_words(self) -> str:
        return minutes(self.wait)


class AdmissionPort(Protocol):
    """Interface for sign-in through an identity provider. `admission.py` implements it."""

    @property
    def provider(self) -> IdentityProvider: ...

    async def admit(self, claims: Mapping[str, Any]) -> str: ...


class AccountSessions:
    """Sessions of operator accounts.

    A session ends when it expires, when its account is disabled, or when the password changes.

    Args:
        days: Lifetime of sessions started with a password. For sessions started through the identity provider, the
            lifetime is set in the provider's file.
        admission: Sign-in through the identity provider, or None if there is no provider.
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
        """Return the caller for a session secret, or None if the secret is invalid.

        Results are cached for REMEMBERED_SECONDS.
        """
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
        """Sign in with an account name and a password.

        The password check takes equally long if the account does not exist, so the response time does not reveal
        account names.

        Args:
            address: IP address of the client.
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
        """Return the name of the account that a password link belongs to, or None if the link is invalid."""
        if not is_secret(link, LINK):
            return None
        now = self._clock.now()
        name: str | None = await self._pool.fetchval(*SQL.find_account_by_link(link_hash=digest(link), now=now))
        return name

    async def use_link(self, link: str, password: str) -> str:
        """Set the password of an account with a single-use link and start a new session.

        All other sessions of the account are ended.

        Returns:
            The secret of the new session.

        Raises:
            RequestRefused: If the link or the password is invalid.
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
        """Change the password of an account and end its other sessions.

        Args:
            session: Secret of the current session, which stays open.
            before: The current password.
            address: IP address of the client.

        Raises:
            RequestRefused: If the current password is wrong, the new one is invalid, the password was changed
                concurrently, or there were too many attempts.
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
        """End a session. Returns True if it was started through the identity provider."""
        self._remembered.pop(digest(session), None)
        ended: bool | None = await self._pool.fetchval(*SQL.end_session(session_hash=digest(session)))
        return bool(ended)

    @property
    def provider(self) -> IdentityProvider | None:
        return None if self._admission is None else self._admission.provider

    async def may_ask_provider(self, address: str) -> SignedIn:
        """Count an attempt to sign in through the identity provider.

        The attempt is allowed if `wait` in the result is 0.
        """
        return SignedIn(None, await self._attempts.wait_for_provider(address, self._clock.now()))

    async def admit(self, claims: Mapping[str, Any], address: str) -> str:
        """Start a session for a person with verified claims and return its secret.

        Raises:
            RequestRefused: If the claims grant no access.
        """
        assert self._admission is not None, "no identity provider"
        session = await self._admission.admit(claims)
        await self._attempts.provider_succeeded(address)
        self._remembered.clear()
        return session

    def forget(self) -> None:
        """Clear the session cache, so that a change to an account takes effect immediately."""
        self._remembered.clear()

    async def _begin(self, connection: Any, name: str, stored: str) -> str | None:
        session = new_secret(SESSION)
        values = {"session_hash": digest(session), "password_hash": stored, "name": name, "now": self._clock.now()}
        begun = await connection.fetchval(*SQL.add_session(**values))
        return None if begun is None else session


def minutes(seconds: int) -> str:
    """Format a number of seconds as minutes, rounded up."""
    count = -(-seconds // 60)
    return "a minute" if count == 1 else f"{count} minutes"
