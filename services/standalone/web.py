"""The one HTTP application: the services' routes behind the access token, health and metrics beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from chat_bridge.api import INGEST_LIMIT
from feedback.widget.routes import PUBLIC as WIDGET
from servicekit.auth import COOKIE, Authenticator
from servicekit.http import BodyLimit
from servicekit.refusals import invalid

PUBLIC = frozenset({"/", "/health/live", "/health/ready", "/favicon.ico"}) | WIDGET
"""Paths that answer without a token; the page at `/` lets people in by itself."""
PUBLIC_PREFIXES = ("/assets/",)
NotReady = Callable[[], Awaitable[str | None]]


class Guard:
    """Answers 401 to every request without a valid token, the public paths aside."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PUBLIC or scope["path"].startswith(PUBLIC_PREFIXES):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            token = request.cookies.get(COOKIE, "")
        if token and await self._authenticator.authenticate(token.strip()):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"detail": "A valid access token is needed."}, 401, headers={"WWW-Authenticate": "Bearer"}
        )
        await refusal(scope, receive, send)


def application(authenticator: Authenticator, not_ready: NotReady) -> FastAPI:
    """The application without the services' routes, which are added once they are built."""
    # The pages that FastAPI makes of /openapi.json load their scripts from elsewhere; nothing here needs a network.
    app = FastAPI(
        title="agent-feedback",
        description="Feedback on AI agents: intake, queries, exports.",
        docs_url=None,
        redoc_url=None,
    )
    app.state.authenticator = authenticator

    @app.get("/health/live", tags=["health"])
    async def live() -> dict[str, str]:
        """The process answers."""
        return {"status": "live"}

    @app.get("/health/ready", tags=["health"])
    async def ready(response: Response) -> dict[str, Any]:
        """200 once every part is up, else 503 and why."""
        why = await not_ready()
        if why is not None:
            response.status_code = 503
            return {"status": "not ready", "why": why}
        return {"status": "ready"}

    @app.get("/metrics", tags=["health"], response_class=Response)
    async def metrics() -> Response:
        """Prometheus metrics."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid(error.errors())

    return app


def guarded(app: FastAPI, authenticator: Authenticator, origins: Sequence[str] = ()) -> ASGIApp:
    """`app` behind its token, with limits on bodies. Pages of `origins` may call it, with a token of their own."""
    behind = BodyLimit(Guard(app, authenticator), {"/ingest/": INGEST_LIMIT})
    if not origins:
        return behind
    # Never with cookies: another site's page speaks with the token it was given, not with the browser's.
    return CORSMiddleware(
        behind,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
        max_age=600,
    )
