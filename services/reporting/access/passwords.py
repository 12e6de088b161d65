"""Password hashing with Argon2, in worker threads."""

from __future__ import annotations

import asyncio
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from servicekit import RequestRefused

SHORTEST: Final = 8
LONGEST: Final = 1024
"""Maximum length in bytes of UTF-8. The minimum, SHORTEST, is in characters."""
_AT_ONCE: Final = 2
"""Maximum number of hashes computed at the same time. Each needs 64 MiB of memory."""


class Passwords:
    """Hashing and verification of passwords.

    Uses the default parameters of argon2-cffi, which are the low-memory profile of RFC 9106.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._of_nobody: str | None = None

    async def hashed(self, password: str) -> str:
        """Hash a password.

        Raises:
            RequestRefused: If the password is too short or too long.
        """
        if len(password) < SHORTEST:
            raise RequestRefused(422, f"A password has at least {SHORTEST} characters.")
        if not _is_bounded(password):
            raise RequestRefused(422, f"A password has at most {LONGEST} bytes.")
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, stored: str | None, password: str) -> bool:
        """Return True if `stored` is a hash of the password.

        Pass None as `stored` for an unknown account. A dummy hash is then checked, so that the response time does not
        reveal whether an account exists.
        """
        if not _is_bounded(password):
            password, stored = "", None
        async with self._turns:
            if self._of_nobody is None:
                self._of_nobody = await asyncio.to_thread(self._hasher.hash, "of nobody")
            return await asyncio.to_thread(self._verified, stored or self._of_nobody, password) and stored is not None

    def _verified(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (Argon2Error, InvalidHashError):
            return False


def _is_bounded(password: str) -> bool:
    return len(password) <= LONGEST and len(password.encode("utf-8", "surrogatepass")) <= LONGEST
