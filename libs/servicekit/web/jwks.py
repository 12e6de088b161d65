"""Cached public keys of a token issuer, which are fetched again when a token names an unknown key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt.exceptions import PyJWTError

from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.logging import logger
from servicekit.web.issuer_http import FAILURES, fetch_json

KEYS_LIMIT: Final = 100
RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_BY_CURVE: Final = {
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA"}),
}
ALGORITHMS: Final = RSA.union(*_BY_CURVE.values())
"""Signature algorithms that use a public key. With a symmetric algorithm, anyone who can read the key set could sign
tokens; with `none`, anyone could."""
_LEAST_RSA_BITS: Final = 2_048

log = logger("jwks")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """Public key for verifying signatures: PyJWT's key object, with the algorithms for which it is valid."""

    key_id: object
    algorithms: frozenset[str]
    key: Any


class KeySet:
    """Public keys of an issuer, fetched from `url` and cached for `keep_seconds`.

    They are fetched at most once every `retry_seconds`, whatever tokens callers send. While the issuer does not
    respond, cached keys remain valid for `stale_seconds`.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        seconds: float = 3.0,
        keep_seconds: float = 600.0,
        retry_seconds: float = 10.0,
        stale_seconds: float = 86_400.0,
    ) -> None:
        self._url = url
        self._clock = clock
        self._seconds = seconds
        self._keep_seconds = keep_seconds
        self._retry_seconds = retry_seconds
        self._stale_seconds = stale_seconds
        self._keys: list[PublicKey] = []
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failed = False
        self._fetching = asyncio.Lock()

    async def key(self, key_id: object, algorithm: str) -> PublicKey | None:
        """Return the key with the id `key_id` if it is suitable for `algorithm`, or None if there is none.

        If `key_id` is None, the only suitable key is returned.

        Raises:
            Unavailable: If the issuer does not respond and the cached keys are too old or do not contain the key.
        """
        if self._older_than(self._fetched_at, self._keep_seconds):
            await self._fetch()
        found = self._find(key_id, algorithm)
        if found is None:
            await self._fetch()
            found = self._find(key_id, algorithm)
        if self._older_than(self._fetched_at, self._stale_seconds) or (found is None and self._failed):
            raise Unavailable("the issuer of tokens")
        return found

    def _find(self, key_id: object, algorithm: str) -> PublicKey | None:
        fitting = [key for key in self._keys if algorithm in key.algorithms]
        if key_id is None:
            return fitting[0] if len(fitting) == 1 else None
        return next((key for key in fitting if key.key_id == key_id), None)

    def _older_than(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock.monotonic() - moment >= seconds

    async def _fetch(self) -> None:
        """Fetch the keys, unless that was attempted within the last `retry_seconds`.

        A failure of the issuer is logged, not raised.
        """
        async with self._fetching:
            if not self._older_than(self._tried_at, self._retry_seconds):
                return
            self._tried_at = self._clock.monotonic()
            try:
                answer = await fetch_json(self._url, self._seconds)
                if answer.status != 200:
                    raise ValueError("the issuer did not return its keys")
                self._keys = keys_in(answer.value)
            except FAILURES as error:
                self._failed = True
                log.warning("key_set_not_fetched", error=type(error).__name__)
            else:
                self._failed = False
                self._fetched_at = self._clock.monotonic()


def keys_in(answer: Any) -> list[PublicKey]:
    """Return the public signing keys in a JSON Web Key Set, skipping other keys.

    Raises ValueError for any other JSON.
    """
    match answer:
        case {"keys": list(keys)}:
            return [key for one in keys[:KEYS_LIMIT] if (key := _public_key(one)) is not None]
        case _:
            raise ValueError("not a JSON Web Key Set")


def _public_key(one: Any) -> PublicKey | None:
    match one:
        case {"kty": "RSA"}:
            algorithms = RSA
        case {"kty": "EC" | "OKP", "crv": str(curve)}:
            algorithms = _BY_CURVE.get(curve, frozenset())
        case _:
            return None
    if "alg" in one:
        algorithms = algorithms & {str(one["alg"])}
    operations = one.get("key_ops", ["verify"])
    signs = one.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    if not algorithms or not signs or "d" in one:
        return None
    try:
        key = jwt.PyJWK(one, min(algorithms)).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if one["kty"] == "RSA" and key.key_size < _LEAST_RSA_BITS:
        return None
    return PublicKey(one.get("kid"), algorithms, key)
