"""Error responses: one sentence, as JSON or a page, without the caller's input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from servicekit.complaints import sentence
from servicekit.errors import LogFull, Unavailable

RETRY_SECONDS = 5
RefusedPage = Callable[[Request, int, str], Awaitable[Response]]
"""Answers a refused request for a page with a page, given the status and why, in one sentence. With 503 it waits for
nothing: time may be over, or what it would ask is what does not answer."""


class Refusal(BaseModel):
    """Reason of a refusal, in one sentence."""

    detail: str = Field(examples=["This token does not reach that tenant and project."])


def documented(status: int, meaning: str) -> dict[int | str, dict[str, Any]]:
    """The entry of a route's OpenAPI document for a refusal with `status`."""
    return {status: {"model": Refusal, "description": meaning}}


def refusal(status: int, detail: str, retry_after: int | None = None) -> HTTPException:
    """The exception that answers `status` with one sentence, and when to come again (seconds)."""
    return HTTPException(status, detail, None if retry_after is None else {"Retry-After": str(retry_after)})


async def refused(request: Request, status: int, why: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a refused request: a page where the guard noted how they look there, else JSON with `headers`."""
    page: RefusedPage | None = getattr(request.state, "page", None)
    answer = JSONResponse({"detail": why}, status, headers) if page is None else await page(request, status, why)
    if status == 503:
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
    return answer


def refusal_of(error: LogFull | Unavailable) -> HTTPException:
    """429 where the log is full, 503 where something does not answer."""
    if isinstance(error, LogFull):
        return refusal(429, str(error), error.retry_after)
    return refusal(503, unavailable(error), RETRY_SECONDS)


def unavailable(error: Unavailable) -> str:
    """Return one sentence that names the unavailable dependency."""
    what = str(error)
    return f"{what[:1].upper()}{what[1:]}; send this again later."


def require_media_type(request: Request, allowed: Collection[str]) -> None:
    """Refuse a body that does not say it is one of `allowed`, or that is compressed. Raises 415.

    A form or a plain text is what a foreign page can send with a person's cookie, so nothing else passes.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in allowed:
        raise refusal(415, f"Send the body as {' or '.join(allowed)}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise refusal(415, "Send the body without compression.")


def invalid(faults: Sequence[Any]) -> JSONResponse:
    """422 for a request that does not read as its route says."""
    return JSONResponse({"detail": sentence(faults)}, 422)
