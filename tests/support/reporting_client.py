"""The reporting routes behind an HTTP client that needs no socket."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
from fastapi import APIRouter, FastAPI

from servicekit.auth import Caller
from servicekit.http import BodyLimit

CALLERS = {
    "all": Caller("local", scopes=frozenset({"on_behalf", "erase"})),
    "acme": Caller("ann", tenant="acme", project="support"),
    "globex": Caller("gus", tenant="globex"),
}
"""Token to caller."""


class Tokens:
    async def authenticate(self, token: str) -> Caller | None:
        return CALLERS.get(token)


def application(routers: Sequence[APIRouter]) -> FastAPI:
    app = FastAPI()
    app.state.authenticator = Tokens()
    for router in routers:
        app.include_router(router)
    return app


def client(routers: Sequence[APIRouter], token: str | None = "all") -> httpx.AsyncClient:
    """A client that calls as `token`; errors inside the application come out as they are."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(BodyLimit(application(routers)))
    return httpx.AsyncClient(transport=transport, base_url="http://reporting", headers=headers)
