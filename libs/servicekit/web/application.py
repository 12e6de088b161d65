"""HTTP application of a process, which serves routes with permissions, health checks and metrics."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from contracts.asyncapi import asyncapi
from contracts.scopes import ADMIN
from servicekit.errors import RequestRefused
from servicekit.request_batcher import RequestBatcher
from servicekit.web.auth import Authenticator
from servicekit.web.body_limit import BodyLimit
from servicekit.web.descriptions import described
from servicekit.web.direct import DirectCalls, DirectRoute
from servicekit.web.documents import Document
from servicekit.web.failures import REQUEST_SECONDS, DeadlineMiddleware
from servicekit.web.guard import Guard
from servicekit.web.paths import template_of
from servicekit.web.permissions import PUBLIC, Need, Permissions, PermissionTable, merged
from servicekit.web.reference import PAGE_HEADERS, reference_page
from servicekit.web.refusals import RefusedPage, answer_of, invalid

NotReady = Callable[[], Awaitable[str | None]]
Warnings = Callable[[], Sequence[str]]
"""Warnings for operators of a ready process, in sentences without ids or user text."""
OWN_ROUTES: Permissions = {
    ("GET", "/health/live"): PUBLIC,
    ("GET", "/health/ready"): PUBLIC,
    ("GET", "/metrics"): Need(scopes=frozenset({ADMIN}), whole_platform=True),
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/asyncapi.json"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
}
"""The routes of every process."""


@dataclass(frozen=True)
class Surface:
    """Properties of a service's routes that the HTTP application needs: permissions, body limits and error pages.

    `permissions` has one row per route (see `permissions.py`). `body_limits` has the limits in bytes, by path prefix,
    that differ from the default. `refused_pages` maps the path of a page to the function that renders its errors.
    """

    permissions: Permissions = field(default_factory=dict)
    body_limits: Mapping[str, int] = field(default_factory=dict)
    refused_pages: Mapping[str, RefusedPage] = field(default_factory=dict)

    def __or__(self, other: Surface) -> Surface:
        return Surface(
            merged(self.permissions, other.permissions),
            {**self.body_limits, **other.body_limits},
            {**self.refused_pages, **other.refused_pages},
        )


def application(not_ready: NotReady, warnings: Warnings = tuple) -> FastAPI:
    """Create the HTTP application without the routes of services.

    They are added by `add_routes` once the services are built.
    """
    # FastAPI's own pages for /openapi.json load scripts from other servers; our pages must work without a network.
    app = FastAPI(
        title="agent-feedback",
        description="Feedback on AI agents: intake, queries, exports.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )

    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]  # FastAPI's own way to change its document
    app.state.documents = {
        "/docs": Document(lambda: reference_page(app.openapi()).encode(), "text/html; charset=utf-8", PAGE_HEADERS),
        "/openapi.json": Document(lambda: _as_json(app.openapi()), "application/json"),
        "/asyncapi.json": Document(lambda: _as_json(asyncapi()), "application/json"),
    }
    app.state.direct = {("GET", path): document for path, document in app.state.documents.items()}
    for path, document in app.state.documents.items():
        app.add_route(path, document.answer, ["GET"], include_in_schema=False)

    why_not_ready = RequestBatcher(partial(_for_all, not_ready))

    @app.get("/health/live", tags=["health"])
    async def live() -> dict[str, str]:
        """Respond with 200 as long as the process runs."""
        return {"status": "live"}

    @app.get("/health/ready", tags=["health"])
    async def ready(response: Response) -> dict[str, Any]:
        """Respond with 200 if all services of the process are ready, otherwise with 503 and the reason.

        `warnings` contains messages for operators.
        """
        why = await why_not_ready(None)
        noted = {"warnings": list(warnings())} if warnings() else {}
        if why is not None:
            response.status_code = 503
            return {"status": "not ready", "why": why, **noted}
        return {"status": "ready", **noted}

    @app.get("/metrics", tags=["health"], response_class=Response)
    async def metrics(request: Request) -> Response:
        """Return the metrics in the text format of Prometheus, or as OpenMetrics if the client accepts that."""
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(REGISTRY), media_type=media_type)

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid(error.errors())

    @app.exception_handler(RequestRefused)
    async def refused(_: Request, error: RequestRefused) -> JSONResponse:
        return answer_of(error)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:
        raise error  # answered, logged and counted by `DeadlineMiddleware`

    return app


def add_routes(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Add the routes of services to the application, and discard cached documents that describe the routes."""
    for router in routers:
        # `include_router` would build every route a second time and look each request up twice.
        app.router.routes.extend(router.routes)
        for route in router.routes:
            if isinstance(route, DirectRoute):
                app.state.direct |= {(method, template_of(route.path)): route for method in route.methods or ()}
    app.openapi_schema = None
    for document in app.state.documents.values():
        document.forget()


async def _for_all(not_ready: NotReady, askers: Sequence[None]) -> Sequence[str | None]:
    """Call `not_ready` once and return its result for each concurrent caller."""
    return [await not_ready()] * len(askers)


def _as_json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version="1", description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        app.openapi_schema = described(document)
    return app.openapi_schema


def guarded(
    app: FastAPI,
    authenticator: Authenticator,
    surface: Surface,
    origins: Sequence[str] = (),
    seconds: float = REQUEST_SECONDS,
    starting: Callable[[], bool] = lambda: False,
    sign_in_url: str | None = None,
) -> ASGIApp:
    """Wrap `app` in middleware for permissions, deadlines and request body limits.

    Args:
        origins: The origins of web pages whose scripts may call the application with their own tokens.
        seconds: The time within which a response must start.
        starting: A function that returns True during the start. Routes of services then respond with 503, while the
            routes of the process itself work.
        sign_in_url: The address at which people sign in with an identity provider.
    """
    own = {template_of(path) for _, path in OWN_ROUTES}
    table = PermissionTable(merged(OWN_ROUTES, surface.permissions))
    compressed = GZipMiddleware(app, minimum_size=1024, compresslevel=4)
    limited = BodyLimit(DirectCalls(compressed, app.state.direct), surface.body_limits)
    guard = Guard(
        limited,
        authenticator,
        table,
        surface.refused_pages,
        lambda template: starting() and template not in own,
        origins,
        sign_in_url,
    )
    behind = DeadlineMiddleware(guard, seconds)
    if not origins:
        return behind
    # Never with cookies: another site's page uses the token that it was given, not the browser's cookie.
    return CORSMiddleware(
        behind,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
        max_age=600,
    )
