"""Responses to refused requests: one sentence, as JSON or as a page, without the caller's input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from servicekit.errors import RequestRefused, Unavailable, error_summary

RETRY_SECONDS = 5
RefusedPage = Callable[[Request, int, str], Awaitable[Response]]
"""Function that renders the refusal of a page request as a page, from the status and the reason in one sentence. With
status 503 it must not wait for anything: the deadline may have passed, or the dependency may not respond."""


class Refusal(BaseModel):
    """Response body of a refused request, with the reason in one sentence."""

    detail: str = Field(
        description="The reason, in one sentence.", examples=["This token does not reach that tenant and project."]
    )


def documented(refuses: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of refusals.

    Args:
        refuses: The meaning of each status.
    """
    return {status: {"model": Refusal, "description": meaning} for status, meaning in refuses.items()}


def answer_of(refusal: RequestRefused) -> JSONResponse:
    """Return the JSON response to a refused request. With status 503, it always has a Retry-After header."""
    seconds = RETRY_SECONDS if refusal.retry_after is None and refusal.status == 503 else refusal.retry_after
    headers = None if seconds is None else {"Retry-After": str(seconds)}
    return JSONResponse({"detail": str(refusal)}, refusal.status, headers)


async def refused(request: Request, status: int, why: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response to a refused request: a page if the route is a page, otherwise JSON with `headers`."""
    page: RefusedPage | None = getattr(request.state, "page", None)
    answer = JSONResponse({"detail": why}, status, headers) if page is None else await page(request, status, why)
    if status == 503:
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
    return answer


def unavailable(error: Unavailable) -> str:
    """Return a sentence for the caller that names the unavailable dependency."""
    what = str(error)
    return f"{what[:1].upper()}{what[1:]}; send this again later."


def invalid(faults: Sequence[Any]) -> JSONResponse:
    """Return the response to an invalid request, with status 422."""
    return JSONResponse({"detail": error_summary(faults)}, 422)
