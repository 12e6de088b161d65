"""Match a text against all patterns of a table, using RE2 as a prefilter.

RE2 can search for many patterns in one pass, but it does not support look-arounds, and its word boundaries differ from
those of Python's `re`. Each pattern is therefore converted to a wider RE2 expression that matches at least the same
texts. Only patterns found by RE2 are then searched for with `re`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import re2

from detector.patterns.table import Pattern

TOGETHER: Final = 5
"""Number of patterns per pass.

RE2 builds its automaton on demand. An automaton of many patterns is large and slow to build, and every additional pass
costs a little time on every text.
"""
MEMORY: Final = 4 << 20
"""Memory limit of RE2 per pass, in bytes. If the automaton exceeds it, RE2 restarts building it."""
#: An escaped character, a character class, the start of a look-around, a counted repetition, or one character.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\{(?:\d+,?|,\d)\d*\}|.", re.DOTALL)
_COUNTED: Final = re.compile(r"\{.+\}")
_CLASS_ESCAPE: Final = re.compile(r"\\[dDsSwW]")
_ANY: Final = "(?s:.)"


class Screen:
    """Fast search for all patterns of a table, with the same result as searching for each pattern with `re`."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(patterns)
        self._always: list[int] = []
        readable: list[tuple[int, str]] = []
        for place, pattern in enumerate(patterns):
            source = wider(pattern.source)
            if pattern.regex.flags == re.UNICODE and _reads(source):
                readable.append((place, source))
            else:  # RE2 lacks flags and back-references
                self._always.append(place)
        self._passes = [_pass(readable[at : at + TOGETHER]) for at in range(0, len(readable), TOGETHER)]

    def search(self, text: str) -> tuple[Pattern, ...]:
        """Return the patterns that match a text, in table order."""
        try:
            encoded = text.encode()
            found = [places[n] for looked, places in self._passes for n in looked.Match(encoded) or ()]
        except UnicodeEncodeError:  # the text has lone surrogates
            return tuple(pattern for pattern in self._patterns if pattern.regex.search(text))
        if not found and not self._always:
            return ()
        places = sorted([*found, *self._always])
        return tuple(pattern for pattern in map(self._patterns.__getitem__, places) if pattern.regex.search(text))


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem, options.log_errors = MEMORY, False
    return options


def _reads(source: str) -> bool:
    try:
        re2.compile(source, _options())
    except re2.error:
        return False
    return True


def _pass(readable: Sequence[tuple[int, str]]) -> tuple[re2.Set, list[int]]:
    """Return an RE2 set for some of the patterns, and the positions of these patterns in the table."""
    looked = re2.Set.SearchSet(_options())
    for _, source in readable:
        looked.Add(source)
    looked.Compile()
    return looked, [place for place, _ in readable]


def wider(source: str) -> str:
    r"""Return an RE2 expression that matches every text in which Python's `re` finds `source`.

    Look-arounds, word boundaries and anchors are removed. Character classes that differ between the two engines, such
    as `\w`, are replaced by any character. A counted repetition such as `{0,80}` becomes unlimited, because counting
    makes RE2's automaton many times larger.
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
    if _COUNTED.fullmatch(piece):
        return "*"
    return _ANY if _CLASS_ESCAPE.search(piece) else piece
