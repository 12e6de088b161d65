"""Cursor of a listing: opaque to callers, bound to its query, validated when it comes back. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from contracts.base import Id
from servicekit.errors import BadRequest

CURSOR_LIMIT: Final = 8_000
"""Characters of a cursor or watermark."""
Moment = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
"""Microseconds since the epoch, as a position holds them."""
Position = TypeVar("Position", bound=Sequence[Any])


class BadCursor(BadRequest):
    """The cursor is malformed, or another listing, window or filter gave it."""

    def __init__(self) -> None:
        super().__init__("cursor: not one that this listing gave for this question")


def question(*parts: Any) -> str:
    """A fingerprint of what was asked: 16 hex digits, the same for the same parts."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=str).encode()).hexdigest()[:16]


def encode(asked: str, position: Sequence[Any]) -> str:
    """The text of a `position` in the listing that answers the question `asked`."""
    inside = json.dumps([asked, *position], separators=(",", ":"), default=str)
    return base64.urlsafe_b64encode(inside.encode()).decode()


def decode(text: str, asked: str, shape: TypeAdapter[Position]) -> Position:
    """The position that `text` stands for.

    Raises BadCursor where it is not of this `shape` or was given for another question.
    """
    try:
        inside = json.loads(base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True))
        if not isinstance(inside, list) or inside[:1] != [asked]:
            raise BadCursor
        return shape.validate_json(json.dumps(inside[1:]))
    except (ValidationError, ValueError, RecursionError) as error:
        raise BadCursor from error


SnapshotText = Annotated[str, Field(pattern=r"^[0-9A-F.]{1,40}/[0-9]{1,19}:[0-9]{1,19}:[0-9,]{0,5000}$")]
"""A database server and one of its snapshots; see `snapshots.py`."""
TIMED: Final = TypeAdapter(tuple[Moment, Id, SnapshotText])
"""A position in an order by time, then id."""
