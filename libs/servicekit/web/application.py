"""HTTP application of a process, which serves routes with permissions, health checks and metrics."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

import contracts
from contracts.scopes import ADMIN
from servicekit.errors import RequestRefused
from servicekit.request_batcher import RequestBatcher
from servicekit.web.auth import Authenticator
from servicekit.web.failures import REQUEST_SECONDS, DeadlineMiddleware
from servicekit.web.guard import STARTING, Entrance, Guard, Need
from servicekit.web.openapi import openapi
from servicekit.web.refusals import answer_of, invalid, refused
from servicekit.web.remote_keys import callers_router
from servicekit.web.routes import GuardedRoute, Routes

NotReady = Callable[[], Awaitable[str | None]]
Warnings = Callable[[], Sequence[str]]
"""Warnings for operators of a ready process, in sentences without ids or user text."""


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

    app.openapi = partial(openapi, app)  # type: ignore[method-assign]  # FastAPI's own way to change its document
    app.router.route_class = GuardedRoute  # refuses everybody unless it declares an access
    app.state.front_page = None
    documents = Routes("documents", token=False, hidden=True)
    app.state.documents = [
        documents.file("/openapi.json", lambda: _as_json(app.openapi()), "application/json"),
        documents.file("/asyncapi.json", (resources.files(contracts) / "asyncapi.json").read_bytes, "application/json"),
    ]
    app.router.routes.extend([*documents.routes, *_health(not_ready, warnings).routes, *callers_router().routes])
    _add_failures(app)
    return app


def _health(not_ready: NotReady, warnings: Warnings) -> Routes:
    """Return the routes for health checks and metrics."""
    own = Routes("health", token=False)
    why_not_ready = RequestBatcher(partial(_for_all, not_ready))

    @own.at("GET", "/health/live", "no token")
    async def live() -> dict[str, str]:
        """Respond with 200 as long as the process runs."""
        return {"status": "live"}

    @own.at("GET", "/health/ready", "no token")
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

    @own.at("GET", "/metrics", Need(scopes=frozenset({ADMIN}), whole_platform=True), response_class=Response)
    async def metrics(request: Request) -> Response:
        """Return the metrics in the text format of Prometheus, or as OpenMetrics if the client accepts that."""
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(REGISTRY), media_type=media_type)

    return own


def _add_failures(app: FastAPI) -> None:
    """Add the exception handlers for rejected requests and for errors of routes."""

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid(error.errors())

    @app.exception_handler(RequestRefused)
    async def refuse(request: Request, error: RequestRefused) -> Response:
        is_page = getattr(request.state, "page", None) is not None
        return await refused(request, error.status, str(error)) if is_page else answer_of(error)

    @app.exception_handler(HTTPException)
    async def fail(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404 and request.scope.get("route") is None:
            return await _no_route(app, request)
        return JSONResponse({"detail": error.detail}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:
        raise error  # answered, logged and counted by `DeadlineMiddleware`


async def _no_route(app: FastAPI, request: Request) -> Response:
    """Return the response to a request whose path has no route: a page for a browser, if the process has pages."""
    if request.state.is_starting:
        return await refused(request, 503, STARTING)
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        request.state.page = app.state.front_page
        return await refused(request, 404, "There is no page at this address.")
    return await refused(request, 404, "Not Found")


def add_routes(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Add the routes of services to the application, and discard cached documents that describe the routes.

    Raises ValueError if a route declares no access, because its callers would be undefined, or if two routes are the
    same.
    """
    for router in routers:
        # `include_router` would look each request up twice.
        app.router.routes.extend(router.routes)
    declared: set[tuple[str, str]] = set()
    for route in app.routes:
        if not isinstance(route, GuardedRoute) or route.need is None:
            raise ValueError(f"{route} declares no access")
        if (route.method, route.path_format) in declared:
            raise ValueError(f"{route} is declared twice")
        declared.add((route.method, route.path_format))
        if route.path == "/":
            app.state.front_page = route.page
    app.openapi_schema = None
    for document in app.state.documents:
        document.forget()


async def _for_all(not_ready: NotReady, askers: Sequence[None]) -> Sequence[str | None]:
    """Call `not_ready` once and return its result for each concurrent caller."""
    return [await not_ready()] * len(askers)


def _as_json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def guarded(
    app: FastAPI,
    authenticator: Authenticator,
    origins: Sequence[str] = (),
    seconds: float = REQUEST_SECONDS,
    starting: Callable[[], bool] = lambda: False,
    sign_in_url: str | None = None,
) -> ASGIApp:
    """Wrap `app` in middleware for permissions and deadlines.

    Args:
        origins: The origins of web pages whose scripts may call the application with their own tokens.
        seconds: The time within which a response must start.
        starting: A function that returns True during the start. Routes of services then respond with 503, while the
            routes of the process itself work.
        sign_in_url: The address at which people sign in with an identity provider.
    """
    compressed = GZipMiddleware(app, minimum_size=1024, compresslevel=4)
    guard = Guard(authenticator, origins, sign_in_url)
    behind = DeadlineMiddleware(Entrance(compressed, guard, starting), seconds)
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
