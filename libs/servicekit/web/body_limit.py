"""Limit on the size of request bodies."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 64 * 1024
"""Maximum size of a request's body in bytes, unless its path has a different limit."""


class BodyLimit:
    """Middleware that responds with 413 to request bodies over the limit, without reading them into memory.

    `limits` are in bytes, by path prefix. Other paths have the limit `BODY_LIMIT`.
    """

    def __init__(self, app: ASGIApp, limits: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._limits = dict(limits or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = next((n for prefix, n in self._limits.items() if scope["path"].startswith(prefix)), BODY_LIMIT)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        seen = 0
        answered = False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise _BodyTooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            if seen > limit and not answered:
                return  # the application's response to the truncated body is discarded
            answered = True
            await send(message)

        with contextlib.suppress(_BodyTooLarge):
            await self._app(scope, counted, noted)
        if seen > limit and not answered:
            await _too_large(limit)(scope, receive, send)


class _BodyTooLarge(Exception):
    pass


def _too_large(limit: int) -> JSONResponse:
    return JSONResponse({"detail": f"The body is larger than {limit} bytes."}, 413)
