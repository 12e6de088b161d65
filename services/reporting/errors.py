"""How the HTTP API fails: always JSON, always one sentence, never the caller's own bytes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from reporting.cursor import BadCursor
from servicekit.failures import is_transient
from servicekit.logging import logger

log = logger("reporting")


class Problem(BaseModel):
    """Why a request was not answered, in one sentence."""

    detail: str = Field(examples=["limit: Input should be less than or equal to 500"])


FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body cannot be read at all."},
    401: {"model": Problem, "description": "No valid access token."},
    403: {"model": Problem, "description": "The token does not reach this tenant, project or person."},
    413: {"model": Problem, "description": "The body is too large."},
    422: {"model": Problem, "description": "The path, the query or the body breaks a rule."},
    503: {"model": Problem, "description": "The database does not answer; try again."},
}
"""What every route may answer instead."""


class Route(APIRoute):
    """A route whose failures are sentences in JSON.

    Validation answers name the field and the rule but do not repeat the input, which need not be text that JSON can
    carry.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
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
