"""Authentication with JSON Web Tokens of one issuer, whose keys PyJWT fetches and caches."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import jwt
from jwt import PyJWKClient
from jwt.exceptions import PyJWKClientConnectionError, PyJWKClientError, PyJWTError

from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.logging import logger
from servicekit.web.auth import Caller
from servicekit.web.issuers import Issuer

TOKEN_LIMIT: Final = 16_384
"""Maximum length of a token, in characters."""
KEEP_SECONDS: Final = 600.0
"""Cache lifetime of an issuer's keys, in seconds."""
PAUSE_SECONDS: Final = 10.0
"""Minimum time between two fetches of an issuer's keys, in seconds, even if callers send unknown tokens."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
log = logger("tokens")


class IssuerKeys:
    """Public keys of an issuer. They are fetched in a thread, once for all waiting callers."""

    def __init__(self, url: str, clock: Clock, seconds: float = 3.0) -> None:
        self._client = PyJWKClient(url, lifespan=KEEP_SECONDS, timeout=seconds, cooldown_duration=PAUSE_SECONDS)
        self._clock = clock
        self._failed_at: float | None = None
        self._fetching = asyncio.Lock()

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the signing key with the id `key_id`, or None if the issuer has no such key.

        Raises Unavailable if the keys cannot be fetched.
        """
        if (key := self._cached(key_id)) is not None:
            return key
        async with self._fetching:
            if (key := self._cached(key_id)) is not None:
                return key
            if self._failed_at is not None and self._clock.monotonic() - self._failed_at < PAUSE_SECONDS:
                raise Unavailable("the issuer of tokens")
            try:
                key = await asyncio.to_thread(self._client.get_signing_key, key_id)
            except PyJWKClientConnectionError as error:
                raise self._failed(error) from None
            except PyJWKClientError as error:
                if self._cached_keys() is None:
                    raise self._failed(error) from None
                return None
            except (PyJWTError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
                raise self._failed(error) from None
            self._failed_at = None
            return key

    def _cached_keys(self) -> list[jwt.PyJWK] | None:
        cache = self._client.jwk_set_cache
        keys = None if cache is None else cache.get()
        return None if keys is None else [key for key in keys.keys if key.public_key_use in ("sig", None)]

    def _cached(self, key_id: str) -> jwt.PyJWK | None:
        return PyJWKClient.match_kid(self._cached_keys() or [], key_id)

    def _failed(self, error: Exception) -> Unavailable:
        self._failed_at = self._clock.monotonic()
        log.warning("key_set_not_fetched", error=type(error).__name__)
        return Unavailable("the issuer of tokens")


class TokenAuthenticator:
    """Authenticator for the tokens that `issuer` has signed for its audience with one of its keys."""

    def __init__(self, issuer: Issuer, clock: Clock, seconds: float = 3.0) -> None:
        self._issuer = issuer
        self._keys = IssuerKeys(issuer.jwks_url, clock, seconds)

    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller identified by the token, or None if the token is invalid or expired.

        Raises Unavailable if the issuer's keys cannot be fetched.
        """
        issuer = self._issuer
        if len(token) > TOKEN_LIMIT or not _TOKEN.fullmatch(token):
            return None
        try:
            header = jwt.get_unverified_header(token)
            unverified = jwt.decode(token, options={"verify_signature": False})
        except (PyJWTError, ValueError, TypeError, RecursionError):
            return None
        key_id, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(key_id, str) or algorithm not in issuer.algorithms or "crit" in header:
            return None
        if unverified.get("iss") != issuer.issuer:
            return None  # a token of another issuer, which costs this one no fetch of keys
        key = await self._keys.key(key_id)
        claims = None if key is None else self._verified(token, key, str(algorithm))
        return None if claims is None else issuer.caller(claims)

    def _verified(self, token: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any] | None:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                issuer=self._issuer.issuer,
                audience=self._issuer.audience,
                leeway=self._issuer.leeway_seconds,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return claims
