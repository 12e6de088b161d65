"""Rate limit for failed sign-ins, by account name and by IP address.

The counts are stored in the database, so all processes share them.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.instants import MINUTE
from reporting.access.secret_values import digest
from reporting.sql import SQL

WINDOW: Final = 15 * MINUTE
MOST_BY_NAME: Final = 10
MOST_BY_ADDRESS: Final = 50
"""Maximum number of failed attempts per IP address and time window. It is high because many people may share one."""


class SignInAttempts:
    """Counter of failed sign-ins.

    Each attempt is counted before its password is checked, so concurrent attempts cannot exceed the limit.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def wait(self, name: str, address: str, now: int) -> int:
        """Count a sign-in attempt and return the number of seconds to wait, or 0 if it is allowed.

        Args:
            now: The current time in microseconds.
        """
        by_name = await self._wait(digest(f"name {name}"), MOST_BY_NAME, now)
        return max(by_name, await self._wait(digest(f"address {address}"), MOST_BY_ADDRESS, now))

    async def wait_for_provider(self, address: str, now: int) -> int:
        """Count an attempt to sign in through the identity provider.

        These attempts have their own count, so failures at the provider do not block sign-ins with a password.

        Returns:
            The number of seconds to wait, or 0 if the attempt is allowed.
        """
        return await self._wait(digest(f"provider {address}"), MOST_BY_ADDRESS, now)

    async def succeeded(self, name: str, address: str) -> None:
        """Record a successful sign-in.

        Resets the count of the account name, and subtracts this attempt from the count of the IP address.
        """
        await self.forget(name)
        await self._return(digest(f"address {address}"))

    async def provider_succeeded(self, address: str) -> None:
        """Record a successful sign-in through the identity provider.

        Subtracts this attempt from the count of the IP address.
        """
        await self._return(digest(f"provider {address}"))

    async def forget(self, name: str) -> None:
        """Reset the count of an account name."""
        await self._pool.execute(*SQL.forget_attempts(subject=digest(f"name {name}")))

    async def _return(self, subject: bytes) -> None:
        await self._pool.execute(*SQL.return_attempt(subject=subject))

    async def _wait(self, subject: bytes, most: int, now: int) -> int:
        return await seconds_to_wait(self._pool, subject, most, WINDOW, now)


async def seconds_to_wait(pool: asyncpg.Pool, subject: bytes, most: int, window: int, now: int) -> int:
    """Count an attempt and return the number of seconds to wait, or 0 if it is allowed.

    Args:
        subject: Key under which attempts are counted.
        most: Number of attempts allowed per time window.
        window: Length of the time window in microseconds.
        now: The current time in microseconds.
    """
    [row] = await pool.fetch(*SQL.count_attempt(subject=subject, now=now, oldest=now - window))
    return 0 if row["failures"] <= most else max(1, (row["since"] + window - now) // 1_000_000 + 1)
