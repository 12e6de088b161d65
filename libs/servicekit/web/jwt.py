"""Authentication with JSON Web Tokens of an external issuer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt.exceptions import PyJWTError
from pydantic import TypeAdapter, ValidationError

from contracts.base import Id, Name
from servicekit.errors import StartError
from servicekit.web.auth import Caller
from servicekit.web.jwks import ALGORITHMS, KeySet

TOKEN_LIMIT: Final = 16_384
"""Maximum length of a token, in characters."""
EVERY_PROJECT: Final = "*"
_ID: TypeAdapter[str] = TypeAdapter(Id)
_SCOPE: TypeAdapter[str] = TypeAdapter(Name)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True)
class Claims:
    """Names of the claims in a token. The scope claim is a space-separated string or a list.

    A token with the tenant `all_tenants` is valid for all tenants. If `all_tenants` is None, every token is limited to
    one tenant.
    """

    subject: str = "sub"
    tenant: str = "tenant"
    project: str = "project"
    scope: str = "scope"
    all_tenants: str | None = None


class JwtAuthenticator:
    """Authenticator for JSON Web Tokens that `issuer` has signed for `audience` with one of its keys.

    A token must have an expiry in the future, a subject, one tenant and one project. The project `*` stands for all
    projects of the tenant. Raises StartError for an algorithm that does not use public keys.
    """

    def __init__(
        self,
        keys: KeySet,
        *,
        issuer: str,
        audience: str,
        algorithms: Sequence[str] = ("RS256", "ES256"),
        leeway: float = 30.0,
        claims: Claims | None = None,
    ) -> None:
        if refused := sorted(set(algorithms) - ALGORITHMS):
            raise StartError(f"AUTH_ALGORITHMS contains {', '.join(refused)}; allowed are {sorted(ALGORITHMS)}.")
        if not algorithms:
            raise StartError("AUTH_ALGORITHMS is empty: no token could be valid.")
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._algorithms = list(algorithms)
        self._leeway = leeway
        self._claims = claims or Claims()

    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller identified by the token, or None if the token is invalid.

        Raises Unavailable (see KeySet).
        """
        said = await verified_claims(
            token, self._keys, self._algorithms, issuer=self._issuer, audience=self._audience, leeway=self._leeway
        )
        return None if said is None else caller_of_claims(said, self._claims)


async def verified_claims(
    token: str, keys: KeySet, algorithms: Collection[str], *, issuer: str, audience: str, leeway: float
) -> Mapping[str, Any] | None:
    """Return the claims of a token that `issuer` has signed for `audience`, or None if it is invalid or expired.

    Raises Unavailable (see KeySet).
    """
    if len(token) > TOKEN_LIMIT or not _TOKEN.fullmatch(token):
        return None
    try:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = str(header.get("alg")), header.get("kid")
        if algorithm not in algorithms or "crit" in header:
            return None
        key = await keys.key(key_id, algorithm)
        if key is None:
            return None
        said: Mapping[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=[algorithm],
            issuer=issuer,
            audience=audience,
            leeway=leeway,
            options={"require": ["exp", "iss", "aud"]},
        )
    except (PyJWTError, ValueError, TypeError, RecursionError):
        return None
    return said


def caller_of_claims(said: Mapping[str, Any], claims: Claims) -> Caller | None:
    """Return the caller described by verified claims, or None if they do not name one person in one tenant.

    No I/O.
    """
    try:
        subject = _ID.validate_python(said.get(claims.subject), strict=True)
        tenant = _SCOPE.validate_python(said.get(claims.tenant), strict=True)
        project = said.get(claims.project)
        if project != EVERY_PROJECT:
            project = _SCOPE.validate_python(project, strict=True)
    except ValidationError:
        return None
    if tenant == claims.all_tenants:
        return Caller(subject, scopes=_scopes(said.get(claims.scope))) if project == EVERY_PROJECT else None
    return Caller(subject, tenant, None if project == EVERY_PROJECT else project, _scopes(said.get(claims.scope)))


def _scopes(said: Any) -> frozenset[str]:
    if isinstance(said, str):
        return frozenset(said.split())
    if isinstance(said, list):
        return frozenset(one for one in said if isinstance(one, str))
    return frozenset()
