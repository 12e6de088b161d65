"""The tenant whose rows a request's statements see."""

from __future__ import annotations

import httpx
import pytest

from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import Caller
from servicekit.web.routes import Routes


class OneCaller:
    """Authenticator that accepts every token as the same caller."""

    def __init__(self, tenant: str | None) -> None:
        self._caller = Caller("ann", tenant)

    async def authenticate(self, token: str) -> Caller | None:
        return self._caller


async def ready() -> None:
    return None


@pytest.mark.parametrize(
    ("path", "tenant", "seen"),
    [
        ("/of/acme", None, "acme"),
        ("/of/acme", "acme", "acme"),
        ("/own", "acme", "acme"),
        ("/own", None, EVERY_TENANT),
    ],
)
async def test_a_request_sees_the_tenant_of_its_path_or_of_its_token(path: str, tenant: str | None, seen: str) -> None:
    app, routes = application(ready), Routes("tests", token=False)

    @routes.at("GET", "/of/{tenant:segment}", "any token")
    async def of(tenant: str) -> str:
        return tenant_in_sight.get()

    @routes.at("GET", "/own", "any token")
    async def own() -> str:
        return tenant_in_sight.get()

    add_routes(app, [routes])
    guard = guarded(app, OneCaller(tenant))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        answer = await http.get(path, headers={"Authorization": "Bearer t"})
    assert (answer.status_code, answer.json()) == (200, seen)
    assert tenant_in_sight.get() == "", "it lasts as long as the request"
