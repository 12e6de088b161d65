"""Strings that a text must have before a pattern can match it, so that few patterns are tried on a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: An escaped character, a class, the start of a group or look-around, a counted repetition, or one character.
_PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[:=!]|\{[\d,]+\}|.", re.DOTALL)
_LITERAL: Final = re.compile(r"[^\\\s.^$]|\\[^\w\s]")
#: Every text has the empty string.
_NOTHING: Final = frozenset({""})


def required(source: str) -> frozenset[str]:
    """Return strings without spaces; every text that the expression `source` matches contains at least one of them.

    The expression may have unnamed groups and look-arounds, but no flags.
    """
    return _required(iter(_PIECE.findall(source)))


def _required(pieces: Iterator[str]) -> frozenset[str]:
    """Read a group up to its end. Return, for each alternative, the strings of the part whose strings are longest."""
    strings: set[str] = set()
    parts, literal = [_NOTHING], ""
    for piece in pieces:
        if piece in ("?", "*") or piece.startswith(("{0", "{,")):
            parts = [*parts, frozenset({literal[:-1]})] if literal else parts[:-1]
            literal = ""
        elif _LITERAL.fullmatch(piece) and piece not in ("(", ")", "|", "+"):
            literal += piece[-1]
        else:
            parts += [frozenset({literal}), _NOTHING]
            literal = ""
            if piece.startswith("("):
                group = _required(pieces)
                parts[-1] = group if piece in ("(", "(?:") else _NOTHING
            elif piece in ("|", ")"):
                strings |= _longest(parts)
                parts = [_NOTHING]
                if piece == ")":
                    return frozenset(strings)
    return frozenset(strings | _longest([*parts, frozenset({literal})]))


def _longest(parts: list[frozenset[str]]) -> frozenset[str]:
    return max(parts, key=lambda strings: min(map(len, strings)))
