"""A table of patterns that tries on a text only those which RE2 cannot rule out.

RE2 looks for all of a table's patterns in one pass over the text. It knows no look-around and other word borders than
Python's `re`, so it is given each expression widened: a wider one matches wherever the pattern does. What it finds is
then tried with the pattern itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import re2

from detector.patterns.table import Pattern

MEMORY: Final = 16 << 20
"""Bytes that RE2 may take for one table; where more would be faster it begins anew."""
#: An escaped character, a class of characters, what opens a look-around, or one character.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", re.DOTALL)
_CLASS_ESCAPE: Final = re.compile(r"\\[dDsSwW]")
_ANY: Final = "(?s:.)"


class Screen:
    """Finds what trying every pattern would find."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        options = re2.Options()
        options.max_mem, options.log_errors = MEMORY, False
        self._patterns = tuple(patterns)
        self._set = re2.Set.SearchSet(options)
        self._places: list[int] = []
        self._always: list[int] = []
        for place, pattern in enumerate(patterns):
            try:
                if pattern.regex.flags != re.UNICODE:
                    raise re2.error("flags")
                self._set.Add(wider(pattern.source))
                self._places.append(place)
            except re2.error:  # flags, a reference back
                self._always.append(place)
        self._set.Compile()

    def search(self, text: str) -> tuple[Pattern, ...]:
        """The patterns that fire on a text, in table order."""
        try:
            found = self._set.Match(text) if self._places else None
        except UnicodeEncodeError:  # half a character of UTF-16
            return tuple(pattern for pattern in self._patterns if pattern.regex.search(text))
        if not found and not self._always:
            return ()
        places = sorted([*map(self._places.__getitem__, found or ()), *self._always])
        return tuple(pattern for pattern in map(self._patterns.__getitem__, places) if pattern.regex.search(text))


def wider(source: str) -> str:
    """An expression for RE2 that matches somewhere in every text in which `source` does for Python.

    Look-arounds, borders of words and ends of the text are left out; classes of characters such as `\\w`, of which the
    two have different ideas, become any character.
    """
    kept: list[str] = []
    depth = 0
    around: int | None = None
    for piece in map(re.Match.group, _TOKEN.finditer(source)):
        depth += piece.startswith("(")
        if around is None and piece.startswith("(?"):
            around = depth
        if around is None:
            kept.append(_widened(piece))
        if piece == ")":
            around = None if around == depth else around
            depth -= 1
    return "".join(kept)


def _widened(piece: str) -> str:
    if piece in {r"\b", r"\B", r"\Z", "$"}:
        return ""
    return _ANY if _CLASS_ESCAPE.search(piece) else piece
