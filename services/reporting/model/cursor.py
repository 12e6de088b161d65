"""Cursors of paged queries. No I/O.

A cursor is opaque to callers and belongs to one query. It is validated when a caller sends it back.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from contracts.base import Id
from servicekit.errors import RequestRefused

CURSOR_LIMIT: Final = 8_000
"""Maximum length of a cursor or watermark, in characters."""
Moment = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
"""A time inside a cursor, in microseconds since the epoch."""
Position = TypeVar("Position", bound=Sequence[Any])


class BadCursor(RequestRefused):
    """Error for a cursor that is malformed, or that belongs to another listing, window or filter."""

    def __init__(self) -> None:
        super().__init__(400, "cursor: not a cursor of this query")


def fingerprint(*parts: Any) -> str:
    """Return a fingerprint of a query: 16 hex digits, equal for equal parts."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=str).encode()).hexdigest()[:16]


def encode(query: str, position: Sequence[Any]) -> str:
    """Encode a position in a query's results as a cursor.

    Args:
        query: The query's fingerprint, from `fingerprint`.
    """
    inside = json.dumps([query, *position], separators=(",", ":"), default=str)
    return base64.urlsafe_b64encode(inside.encode()).decode()


def decode(text: str, query: str, shape: TypeAdapter[Position]) -> Position:
    """Decode a cursor to the position in a query's results.

    Args:
        query: The query's fingerprint, from `fingerprint`.
        shape: Type of the position.

    Raises:
        BadCursor: If the cursor belongs to another query, or its position does not match `shape`.
    """
    try:
        inside = json.loads(base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True))
        if not isinstance(inside, list) or inside[:1] != [query]:
            raise BadCursor
        return shape.validate_json(json.dumps(inside[1:]))
    except (ValidationError, ValueError, RecursionError) as error:
        raise BadCursor from error


SnapshotText = Annotated[str, Field(pattern=r"^[0-9A-F.]{1,40}/[0-9]{1,19}:[0-9]{1,19}:[0-9,]{0,5000}$")]
"""Snapshot of `turns.snapshots`: a database server and one of its snapshots."""
TIMED: Final = TypeAdapter(tuple[Moment, Id, SnapshotText])
"""Position in results ordered by time, then id, with a snapshot."""
