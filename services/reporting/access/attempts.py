"""Rate limit for failed sign-ins by name and by address, shared by all processes on the database."""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.instants import MINUTE
from reporting.access.secret_values import digest
from reporting.sql import SQL

WINDOW: Final = 15 * MINUTE
MOST_BY_NAME: Final = 10
MOST_BY_ADDRESS: Final = 50
"""Maximum number of failed attempts from one IP address in a time window. Many people may share an address."""


class SignInAttempts:
    """Counter of failed sign-ins.

    An attempt is counted before the password is checked, so concurrent attempts cannot exceed the limit.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def wait(self, name: str, address: str, now: int) -> int:
        """Count an attempt. Return 0 if it is allowed, otherwise the seconds until the next allowed attempt."""
        by_name = await self._wait(digest(f"name {name}"), MOST_BY_NAME, now)
        return max(by_name, await self._wait(digest(f"address {address}"), MOST_BY_ADDRESS, now))

    async def wait_for_provider(self, address: str, now: int) -> int:
        """Count an attempt to sign in with the identity provider. Return 0 if allowed, otherwise the seconds to wait.

        These attempts are counted separately, so that failures with the provider do not block sign-in with a password.
        """
        return await self._wait(digest(f"provider {address}"), MOST_BY_ADDRESS, now)

    async def succeeded(self, name: str, address: str) -> None:
        """Reset the count of this name, and subtract one attempt from the count of this address."""
        await self.forget(name)
        await self._return(digest(f"address {address}"))

    async def provider_succeeded(self, address: str) -> None:
        """Reduce this address's count of attempts with the identity provider by one."""
        await self._return(digest(f"provider {address}"))

    async def forget(self, name: str) -> None:
        """Reset the count of attempts with this name."""
        await self._pool.execute(*SQL.forget_attempts(subject=digest(f"name {name}")))

    async def _return(self, subject: bytes) -> None:
        await self._pool.execute(*SQL.return_attempt(subject=subject))

    async def _wait(self, subject: bytes, most: int, now: int) -> int:
        return await seconds_to_wait(self._pool, subject, most, WINDOW, now)


async def seconds_to_wait(pool: asyncpg.Pool, subject: bytes, most: int, window: int, now: int) -> int:
    """Count an attempt. Return 0 for the first `most` attempts in a window, otherwise the seconds until its end."""
    [row] = await pool.fetch(*SQL.count_attempt(subject=subject, now=now, oldest=now - window))
    return 0 if row["failures"] <= most else max(1, (row["since"] + window - now) // 1_000_000 + 1)
