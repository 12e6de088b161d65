"""The body of a platform's request. Pure but for the refusal that it raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from servicekit.http.refusals import refusal


def json_object(body: bytes) -> Mapping[str, Any]:
    """The JSON object that `body` is. Raises the refusal 422."""
    try:
        payload = from_json(body)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise refusal(422, "The body is not a JSON object.")
    return payload
