"""A direct route responds like FastAPI, and an id in its path may contain a slash."""

from __future__ import annotations

from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Request, Response

from contracts.base import Id, Model, Name
from contracts.instants import Instant
from servicekit.errors import RequestRefused
from servicekit.web.application import Surface, add_routes, application, guarded
from servicekit.web.auth import AccessToken, Caller, caller_of
from servicekit.web.direct import DirectRoute
from servicekit.web.permissions import needs

PATH = "/things/{tenant}/{thing_id:segment}"


class Thing(Model):
    thing_id: Id
    said_by: str
    at: Instant = 0


async def ready() -> None:
    return None


def things(route_class: type[DirectRoute] | None) -> FastAPI:
    app = application(ready)
    router = APIRouter() if route_class is None else APIRouter(route_class=route_class)

    @router.post(PATH, status_code=202, response_model=Thing)
    async def thing(
        request: Request, tenant: Name, thing_id: Id, caller: Annotated[Caller, Depends(caller_of)]
    ) -> Thing | Response:
        if await request.body() == b"nothing":
            return Response(status_code=204)
        if thing_id == "none":
            raise RequestRefused(404, "There is no such thing.")
        return Thing(thing_id=thing_id, said_by=caller.subject)

    add_routes(app, [router])
    return app


async def asked(app: FastAPI, path: str, body: bytes = b"") -> httpx.Response:
    behind = guarded(app, AccessToken("t"), Surface({("POST", PATH): needs()}))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(behind), base_url="http://here") as http:
        return await http.post(path, content=body, headers={"Authorization": "Bearer t"})


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/things/acme/one%2Ftwo%20%C3%A9", b"", 202),
        ("/things/acme/one", b"nothing", 204),
        ("/things/acme/none", b"", 404),
        ("/things/acme/%00", b"", 422),
        ("/things/ac%20me/one", b"", 422),
        ("/things/acme/one", b"x" * 100_000, 413),
    ],
)
async def test_it_answers_as_fastapi_would(
    path: str, body: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = await asked(things(DirectRoute), path, body)
    plain = await asked(things(None), path, body)
    assert (direct.status_code, direct.content) == (plain.status_code, plain.content)
    assert {*direct.headers.items()} == {*plain.headers.items()}
    assert direct.status_code == status


async def test_it_is_called_past_fastapi_and_answers_the_same_within(monkeypatch: pytest.MonkeyPatch) -> None:
    app = things(DirectRoute)
    routes = [place for place, one in app.state.direct.items() if isinstance(one, DirectRoute)]
    assert routes == [("POST", "/things/{tenant}/{thing_id}")]
    within = things(DirectRoute)
    within.state.direct.clear()
    for path in ("/things/acme/one%2Ftwo", "/things/acme/none", "/things/acme/%00"):
        one, other = await asked(app, path), await asked(within, path)
        assert (one.status_code, one.content) == (other.status_code, other.content)

    async def never(self: FastAPI, *_: object) -> None:
        raise AssertionError("FastAPI was asked")

    monkeypatch.setattr(FastAPI, "__call__", never)
    assert (await asked(app, "/things/acme/one")).status_code == 202
