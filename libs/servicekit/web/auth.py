"""Caller of a request with their permissions, and authenticators that identify a caller by token."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from contracts.scopes import ALL_SCOPES, ON_BEHALF, READ
from servicekit.errors import RequestRefused, StartError, Unavailable

COOKIE = "agent_feedback_token"
MEMBER: Final = "member:"
"""Prefix of the subject of a colleague or a program. The name follows.

The prefix distinguishes a colleague from a chat user with the same name. It is the same for a key and for a token of an
identity provider, so that a person stays the same reviewer with either.
"""
_BEARER = HTTPBearer(auto_error=False, description="An access token, or a JSON Web Token of the configured issuer.")
"""Security scheme for the OpenAPI document only; the guard has verified the token."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Authenticated caller of a request.

    `tenant` is None for all tenants, and `project` is None for all projects. `more_projects` are additional projects of
    the tenant.

    `is_person` is False for an operator's account or a key. Such a caller has no feedback of its own, so its requests
    to give or read feedback must name the person on whose behalf it acts.
    """

    subject: str
    tenant: str | None = None
    project: str | None = None
    scopes: frozenset[str] = frozenset()
    more_projects: frozenset[str] = frozenset()
    is_person: bool = True

    def may_touch(self, tenant: str, project: str | None) -> bool:
        """Return True if the caller may access `project` of `tenant`, or all its projects if `project` is None."""
        if self.tenant not in (None, tenant):
            return False
        return self.project in (None, project) or project in self.more_projects

    @property
    def member_name(self) -> str | None:
        """Name of a colleague or a program, or None for a chat user and for the holder of the access token."""
        return self.subject.removeprefix(MEMBER) if self.subject.startswith(MEMBER) else None

    @property
    def projects(self) -> list[str] | None:
        """Names of the caller's projects, or None for all projects."""
        return None if self.project is None else sorted({self.project, *self.more_projects})

    def person(self, user_id: str | None) -> str:
        """Return the person whom a request concerns: `user_id` if given, otherwise the caller.

        Raises:
            RequestRefused: With status 403, if a caller without the scope `on_behalf` names another person. Also if the
                caller is not a person and names nobody.
        """
        if not self.is_person and user_id is None:
            raise RequestRefused(403, "Accounts and keys have no feedback of their own: name the person with user_id.")
        if (user_id not in (None, self.subject) or not self.is_person) and ON_BEHALF not in self.scopes:
            raise RequestRefused(403, "This token may not speak for others: that needs the scope on_behalf.")
        return user_id or self.subject

    @property
    def own_only(self) -> str | None:
        """Id of the only person whose feedback the caller may query across projects, or None for all people."""
        return None if READ in self.scopes and self.project is None else self.subject


class Authenticator(Protocol):
    async def authenticate(self, token: str) -> Caller | None:
        """Return the caller identified by the token, or None if the token is invalid.

        Raises Unavailable if the token cannot be checked.
        """
        ...


class AccessToken:
    """Authenticator for a single access token, which grants all permissions.

    Raises StartError if the token is empty.
    """

    def __init__(self, token: str) -> None:
        if not token.strip():
            raise StartError("The access token is empty.")
        self._token = token.encode()

    async def authenticate(self, token: str) -> Caller | None:
        if hmac.compare_digest(self._token, token.encode("utf-8", "replace")):
            return Caller("local", scopes=ALL_SCOPES)
        return None


class AnyOfLater:
    """Authenticator that delegates to other authenticators, which exist only once the services have started.

    Args:
        authenticators: A function that returns these authenticators, or None before the start.
        prefix: Before the start, a token with this prefix raises Unavailable, and any other token is rejected.
    """

    def __init__(self, authenticators: Callable[[], Sequence[Authenticator] | None], prefix: str = "af") -> None:
        self._known = authenticators
        self._prefix = prefix

    async def authenticate(self, token: str) -> Caller | None:
        authenticators = self._known()
        if authenticators is None and token.startswith(self._prefix):
            raise Unavailable("this service is starting")
        return await AnyOf(*authenticators or ()).authenticate(token)


class AnyOf:
    """Authenticator that tries several authenticators in order until one accepts the token."""

    def __init__(self, *authenticators: Authenticator) -> None:
        self._authenticators = authenticators

    async def authenticate(self, token: str) -> Caller | None:
        for authenticator in self._authenticators:
            if caller := await authenticator.authenticate(token):
                return caller
        return None


async def caller_of(request: Request, _: Annotated[object, Depends(_BEARER)] = None) -> Caller:
    """Return the caller of a request, as identified by the guard.

    Raises HTTPException (401) on a public route, where the guard does not identify callers.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        raise HTTPException(401, "A valid access token is needed.", {"WWW-Authenticate": "Bearer"})
    return caller


RequestCaller = Annotated[Caller, Depends(caller_of)]
"""Type of a route handler's parameter that gets the caller of the request."""
