"""The one HTTP application: the services' routes behind the access token, health and metrics beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

from servicekit.auth import COOKIE, Authenticator
from servicekit.http import BodyLimit

PUBLIC = frozenset({"/", "/health/live", "/health/ready", "/favicon.ico"})
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
    app = FastAPI(title="agent-feedback", description="Feedback on AI agents: intake, queries, exports.")
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
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = [{"loc": list(fault["loc"]), "msg": fault["msg"], "type": fault["type"]} for fault in error.errors()]
        return JSONResponse({"detail": faults}, 422)

    return app


def guarded(app: FastAPI, authenticator: Authenticator) -> ASGIApp:
    """`app` behind its token, with limits on bodies."""
    return BodyLimit(Guard(app, authenticator))
