"""Parsing of request bodies according to their media type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from fastapi import Request
from pydantic import ValidationError

from servicekit.errors import RequestRefused, error_summary


def media_type_of(request: Request) -> str:
    """Return the media type of the request's body in lower case and without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


T = TypeVar("T")


async def read_body(request: Request, readers: Mapping[str, Callable[[bytes], T]]) -> T:
    """Return the request's body, parsed by the reader for its media type, such as a model's `model_validate_json`.

    Raises RequestRefused with one of these statuses:

    - 415 for a media type without a reader
    - 415 for a compressed body
    - 422 if the reader raises ValueError
    """
    media_type = media_type_of(request)
    if media_type not in readers:
        raise RequestRefused(415, f"Send the body as {' or '.join(readers)}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RequestRefused(415, "Send the body without compression.")
    body = await request.body()
    try:
        return readers[media_type](body)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestRefused(422, error_summary(faults)) from None
    except (ValueError, RecursionError):
        raise RequestRefused(422, error_summary([{"loc": (), "msg": "not one JSON value in UTF-8"}])) from None
