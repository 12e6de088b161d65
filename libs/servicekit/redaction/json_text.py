"""Redact JSON in place: only strings with something to redact change, every other byte stays as sent. Pure.

The result keeps what parsing would lose, such as repeated names and the digits of large numbers, so that an event that
is rejected as sent is rejected after redaction too.
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
    """Return a pattern that matches the names in `kept` with their string values in valid JSON.

    `redact_json` does not change these values. The pattern matches nothing else in valid JSON: a quote without a
    backslash before it begins or ends a string, and no letter follows the end of a string. Values that contain a
    backslash do not match. Matching takes linear time.
    """
    names = "|".join(re.escape(name) for name in sorted(kept))
    return re.compile(rf'(?<!\\)"(?:{names})"\s*:\s*"[^"\\]*"'.encode())


def redact_json(value: bytes, redact: Redact, kept: Container[str]) -> tuple[bytes, Counter[str]]:
    """Return JSON with its strings redacted, except the values of the names in `kept`, and the number of masks by kind.

    Strings in lists, names that contain anything except letters, and long integers are redacted too. A `value` that is
    not JSON is redacted as one text.
    """
    if not is_json(value):
        clean, found = redact(value.decode("utf-8", "surrogateescape"))
        return (clean.encode("utf-8", "surrogateescape") if found else value), found
    counts: Counter[str] = Counter()
    parts: list[bytes] = []
    at = 0
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
        clean, found = redact(text)
        if not found:
            continue
        counts += found
        end = token.start(1) + len(token[1]) + 1 if number is None else token.end()
        parts += value[at : token.start()], _literal(clean)
        at = end
    return b"".join((*parts, value[at:])) if parts else value, counts


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


def _stands_alone(value: bytes, at: int) -> bool:
    """Return True if no digit, point or exponent precedes the number at `at`."""
    return value[at - 1 : at] not in _NUMERIC


_NUMERIC: Final = frozenset(bytes([one]) for one in b"0123456789.eE+-")


def is_json(value: bytes) -> bool:
    """Return True if `value` is JSON. Strings may contain lone surrogates."""
    # `json.loads` also accepts lone surrogates, which may occur next to escaped characters.
    for parse in (from_json, json.loads):
        try:
            parse(value)
        except (ValueError, RecursionError):
            continue
        return True
    return False
