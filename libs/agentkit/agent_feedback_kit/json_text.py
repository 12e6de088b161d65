"""JSON encoding that every JSON parser accepts."""

from __future__ import annotations

import json
from typing import Any


def json_bytes(value: Any) -> bytes:
    """Encode `value` as compact JSON in UTF-8. Raises ValueError for NaN and infinity, TypeError for other types."""
    return replace_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)).encode()


def replace_surrogates(text: str) -> str:
    """Return `text` with lone surrogates replaced by U+FFFD, because UTF-8 cannot encode them.

    A text that was truncated within a surrogate pair ends in a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
