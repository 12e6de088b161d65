"""Masking of parts of a text, called spans, and of strings in JSON. No I/O.

Only strings with something to redact change in a JSON text, all other bytes stay as sent. Parsing the JSON and writing
it again would lose repeated names and digits of large numbers. Editing the bytes in place also keeps an invalid event
invalid, so that it is still rejected.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final, NamedTuple

from pydantic_core import from_json

ROUNDS_LIMIT: Final = 8
WHOLE: Final = "text"
"""Mask kind for a text that is masked as a whole."""


class MaskedSpan(NamedTuple):
    """Part of a text to redact, from `start` up to `end`, with the kind of its content, such as `card`."""

    start: int
    end: int
    kind: str


Recogniser = Callable[[str], Iterable[MaskedSpan]]
"""Function that returns the spans of a text that must not be stored. It must be deterministic."""


def mask(kind: str, length: int) -> str:
    """Return the mask for a text of `length` characters.

    It is never longer than the text, so masking cannot exceed a length limit.
    """
    name = f"[{kind}]"
    return name if len(name) <= length else "*" * length


def joined(spans: Iterable[MaskedSpan]) -> list[MaskedSpan]:
    """Sort spans by position and merge overlapping ones. A merged span has the kind of the first."""
    result: list[MaskedSpan] = []
    for span in sorted(spans, key=lambda candidate: (candidate.start, -candidate.end, candidate.kind)):
        if span.end <= span.start:
            continue
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def redacted(text: str, recognisers: Sequence[Recogniser], once: Sequence[Recogniser] = ()) -> tuple[str, Counter[str]]:
    """Return `text` with the recognisers' matches replaced by masks, and the number of masks by kind.

    A mask may create another match next to it, so the search is repeated until nothing is found. If there are still
    matches after ROUNDS_LIMIT rounds, the whole text is masked.

    Args:
        once: Recognisers that run only in the first round.
    """
    counts: Counter[str] = Counter()
    looking = [*recognisers, *once]
    for _ in range(ROUNDS_LIMIT):
        spans = joined(span for recogniser in looking for span in recogniser(text))
        if not spans:
            return text, counts
        counts.update(span.kind for span in spans)
        text, looking = _masked(text, spans), [*recognisers]
    if any(True for recogniser in recognisers for _ in recogniser(text)):
        return mask(WHOLE, len(text)), counts + Counter({WHOLE: 1})
    return text, counts


def _masked(text: str, spans: Iterable[MaskedSpan]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += text[position : span.start], mask(span.kind, span.end - span.start)
        position = span.end
    return "".join((*parts, text[position:]))


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
