"""How the HTTP API fails: always JSON, always one sentence, never the caller's own bytes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from reporting.cursor import BadCursor
from servicekit.failures import is_transient
from servicekit.logging import logger

BODY_LIMIT = 65_536
"""Bytes of a request's body."""
log = logger("reporting")


class TooLarge(Exception):
    """The body is longer than BODY_LIMIT."""


class Route(APIRoute):
    """A route whose bodies are bounded, and whose failures are sentences in JSON.

    Validation answers name the field and the rule but do not repeat the input, which need not be text that JSON can
    carry.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(await _bounded(request))
            except TooLarge:
                return refusal(413, f"The body is longer than {BODY_LIMIT} bytes.")
            except RequestValidationError as error:
                return refusal(422, sentence(error.errors()))
            except BadCursor as error:
                return refusal(422, str(error))
            except HTTPException:
                raise
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("database_unavailable", error=type(error).__name__)
                return refusal(503, "The database does not answer; try again.", {"Retry-After": "5"})

        return guarded


def refusal(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)


def sentence(errors: Any) -> str:
    """The first few complaints as `field: rule; field: rule`."""
    told = [f"{'.'.join(str(part)[:64] for part in one['loc'][1:]) or one['loc'][0]}: {one['msg']}" for one in errors]
    more = f"; and {len(told) - 5} more" if len(told) > 5 else ""
    return ("; ".join(told[:5]) + more).encode("ascii", "backslashreplace").decode()


async def _bounded(request: Request) -> Request:
    """The request with its body read, if it is not too long."""
    chunks: list[bytes] = []
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > BODY_LIMIT:
            raise TooLarge
        chunks.append(chunk)
    body = b"".join(chunks)
    told = False

    async def receive() -> Any:
        nonlocal told
        if told:
            return await request.receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)
