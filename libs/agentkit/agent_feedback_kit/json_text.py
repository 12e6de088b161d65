"""JSON encoding that every JSON parser accepts."""

from __future__ import annotations

import json
from typing import Any


def json_bytes(value: Any) -> bytes:
    """Encode a value as compact JSON in UTF-8.

    Raises:
        ValueError: The value contains NaN or infinity.
        TypeError: The value contains a type that JSON does not support.
    """
    return replace_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)).encode()


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, with U+FFFD.

    A text ends in a lone surrogate if it was truncated in the middle of a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
