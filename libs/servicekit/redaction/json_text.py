"""In-place redaction of JSON: only strings with something to redact change, all other bytes stay as sent. No I/O.

Parsing the JSON and writing it again would lose repeated names and digits of large numbers. Editing the bytes in place
also keeps an invalid event invalid, so that it is still rejected.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Final

from pydantic_core import from_json

Redact = Callable[[str], tuple[str, Counter[str]]]
_TOKEN: Final = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*(:\s*)?|-?(\d{13,19})(?![\d.eE])', re.DOTALL)


def kept_values(kept: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern for the parts of a JSON text that `redact_json` leaves unchanged.

    It matches each name in `kept` together with its string value.

    Values with a backslash do not match. In valid JSON, the pattern matches nothing else, because an unescaped quote
    begins or ends a string, and no letter can follow the end of a string. Matching takes linear time.
    """
    names = "|".join(re.escape(name) for name in sorted(kept))
    # The pattern begins with the quote, because `re` looks for a literal beginning faster.
    return re.compile(rf'"(?<!\\")(?:{names})"\s*:\s*"[^"\\]*"'.encode())


def redact_json(value: bytes, redact: Redact, kept: Container[str]) -> tuple[bytes, Counter[str]]:
    """Return the JSON `value` with its strings redacted, and the number of masks by kind.

    Long integers are redacted like strings. So are the names in objects, except those that consist only of letters. If
    `value` is not JSON, it is redacted as a single text.

    Args:
        kept: The names whose values stay unchanged.
    """
    if not is_json(value):
        clean, masks = redact(value.decode("utf-8", "surrogateescape"))
        return (clean.encode("utf-8", "surrogateescape") if masks else value), masks
    counts: Counter[str] = Counter()
    parts: list[bytes] = []
    position = 0
    name, value_at = "", -1
    for token in _TOKEN.finditer(value):
        is_kept = token.start() == value_at and name in kept
        number = token[3]
        text = number.decode() if number else _text_of(token[1])
        if token[2] is not None:
            name, value_at = text, token.end()
            is_kept = text.isalpha()
        if is_kept or (number and not _stands_alone(value, token.start())):
            continue
        clean, masks = redact(text)
        if not masks:
            continue
        counts += masks
        end = token.start(1) + len(token[1]) + 1 if number is None else token.end()
        parts += value[position : token.start()], _literal(clean)
        position = end
    return b"".join((*parts, value[position:])) if parts else value, counts


def _text_of(literal: bytes) -> str:
    if b"\\" in literal:
        try:
            text: str = json.loads(b'"%s"' % literal, strict=False)
        except ValueError:
            pass
        else:
            return text
    return literal.decode("utf-8", "replace")


def _literal(text: str) -> bytes:
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(text).encode()


def _stands_alone(value: bytes, position: int) -> bool:
    """Return True if a number begins at `position`, with no digit, point or exponent directly before it."""
    return value[position - 1 : position] not in _NUMERIC


_NUMERIC: Final = frozenset(bytes([digit]) for digit in b"0123456789.eE+-")


def is_json(value: bytes) -> bool:
    """Return True if `value` is JSON. Lone surrogates in strings are allowed."""
    # `json.loads` also accepts lone surrogates, which may occur next to escaped characters.
    for parse in (from_json, json.loads):
        try:
            parse(value)
        except (ValueError, RecursionError):
            continue
        return True
    return False
