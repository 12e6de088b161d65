"""Who calls, and what they may touch."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated, Protocol

from fastapi import Depends, HTTPException, Path, Request
from fastapi.security import HTTPBearer

from contracts.base import Scope

COOKIE = "agent_feedback_token"
ON_BEHALF = "on_behalf"
"""The scope to speak for other people."""
INGEST = "ingest"
"""The scope to say what was said in chats, in anybody's name."""
ALL_SCOPES = frozenset({ON_BEHALF, INGEST})


_BEARER = HTTPBearer(auto_error=False, description="An access token, or a JSON Web Token of the configured issuer.")
"""For the API's description only: the token is read below."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller. `tenant` or `project` None means all of them."""

    subject: str
    tenant: str | None = None
    project: str | None = None
    scopes: frozenset[str] = frozenset()

    def may_touch(self, tenant: str, project: str) -> bool:
        return self.tenant in (None, tenant) and self.project in (None, project)


class Authenticator(Protocol):
    async def authenticate(self, token: str) -> Caller | None:
        """The caller a token stands for, or None where it is not valid."""
        ...


class AccessToken:
    """One token for one machine: whoever has it may do everything."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def authenticate(self, token: str) -> Caller | None:
        if hmac.compare_digest(self._token, token.encode("utf-8", "replace")):
            return Caller("local", scopes=ALL_SCOPES)
        return None


async def caller_of(request: Request, _: Annotated[object, Depends(_BEARER)] = None) -> Caller:
    """The request's caller by bearer token, or by cookie for people. Raises 401."""
    authenticator: Authenticator = request.app.state.authenticator
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        token = request.cookies.get(COOKIE, "")
    caller = await authenticator.authenticate(token.strip()) if token else None
    if caller is None:
        raise HTTPException(401, "A valid access token is needed.", {"WWW-Authenticate": "Bearer"})
    return caller


async def caller_in(
    tenant: Annotated[Scope, Path(examples=["acme"])],
    project: Annotated[Scope, Path(examples=["support"])],
    caller: Annotated[Caller, Depends(caller_of)],
) -> Caller:
    """The caller, allowed in the path's tenant and project. Raises 403."""
    if not caller.may_touch(tenant, project):
        raise HTTPException(403, "This token does not reach that tenant and project.")
    return caller
