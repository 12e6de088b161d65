"""JSON encoding that every parser accepts."""

from __future__ import annotations

import json
from typing import Any


def json_bytes(value: Any) -> bytes:
    """`value` as compact JSON in UTF-8. Raises ValueError for NaN and infinity, TypeError for what JSON lacks."""
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)).encode()


def whole(text: str) -> str:
    """The text with U+FFFD for half a character of UTF-16, as a cut text may end in: UTF-8 has no bytes for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
