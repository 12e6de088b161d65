"""Where a listing of conversations goes on: opaque to callers, checked on the way back in. Pure."""

from __future__ import annotations

import base64
import json
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from contracts.base import Id

CURSOR_LIMIT = 8_000
"""Characters of a cursor."""


class BadCursor(ValueError):
    """The cursor is none of ours."""

    def __init__(self) -> None:
        super().__init__("cursor: not one that this listing gave")


class Cursor(NamedTuple):
    """The last conversation shown, and what the database held on the first page.

    `snapshot` is PostgreSQL's own text of a snapshot.
    """

    last_activity_at: int
    conversation_id: str
    snapshot: str


_ADAPTER = TypeAdapter(
    tuple[
        Annotated[int, Field(ge=0, lt=2**63, strict=True)],
        Id,
        Annotated[str, Field(pattern=r"^[0-9]{1,19}:[0-9]{1,19}:[0-9,]*$", max_length=6_000)],
    ]
)


def encode(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(json.dumps(cursor, separators=(",", ":")).encode()).decode()


def decode(text: str) -> Cursor:
    """The cursor that `text` stands for. Raises BadCursor."""
    try:
        return Cursor(*_ADAPTER.validate_json(base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)))
    except (ValidationError, ValueError) as error:
        raise BadCursor from error
