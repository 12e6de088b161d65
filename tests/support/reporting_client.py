"""HTTP client of the reporting routes, without a socket."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
from fastapi import APIRouter
from starlette.types import ASGIApp

from contracts.scopes import ALL_SCOPES
from reporting.access.sign_in import sign_in_router
from servicekit.web.application import add_routes, guarded
from servicekit.web.application import application as servicekit_application
from servicekit.web.auth import Caller

CALLERS = {
    "all": Caller("local", scopes=ALL_SCOPES),
    "acme": Caller("ann", tenant="acme", project="support", scopes=frozenset({"read", "detect", "export"})),
    "acme-admin": Caller("ada", tenant="acme", scopes=ALL_SCOPES),
    "support-admin": Caller("sue", tenant="acme", project="support", scopes=ALL_SCOPES),
    "globex": Caller("gus", tenant="globex", scopes=frozenset({"read", "detect", "export"})),
}
"""Caller of each token."""


class Tokens:
    async def authenticate(self, token: str) -> Caller | None:
        return CALLERS.get(token)


def application(routers: Sequence[APIRouter]) -> ASGIApp:
    """Return an application with `routers` behind the guard, as the service mounts them."""
    app = servicekit_application(_ready)
    add_routes(app, (*routers, sign_in_router()))
    return guarded(app, Tokens())


async def _ready() -> None:
    return None


def client(routers: Sequence[APIRouter], token: str | None = "all") -> httpx.AsyncClient:
    """Return a client with the token `token`; errors inside the application are raised unchanged."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(application(routers))
    return httpx.AsyncClient(transport=transport, base_url="http://reporting", headers=headers)
