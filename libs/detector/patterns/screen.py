"""A table of patterns that tries on a text only those of which it holds a sign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final

from detector.patterns.necessary import Signs, alternatives, needs
from detector.patterns.table import Pattern

#: Words remembered with the patterns that they call for, at most `LONGEST` letters each; past it all are forgotten.
REMEMBERED: Final = 32_768
#: A longer word is not looked into: it calls for every pattern.
LONGEST: Final = 40

_RUN: Final = re.compile(r"[^\W_]+")


class Screen:
    """Finds what trying every pattern would find, and remembers words only to be faster.

    A row is one alternative of a pattern. What a word calls for is one number: bit n says that it is among the first
    signs of the n-th row, and as many bits higher, that it is among the second. Only a text that holds both is tried.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        rows = [(pattern, source) for pattern in patterns for source in alternatives(pattern.source)]
        tries = []
        self._always = 0
        self._marks: dict[str, int] = {}
        self._whole: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._words: dict[str, int] = {}
        for place, (pattern, source) in enumerate(rows):
            needed = needs(source)
            self._sort_in(1 << place, needed.first)
            self._sort_in(1 << place + len(rows), needed.second)
            regex = re.compile(source)
            tries.append((pattern, regex.match if needed.at_start else regex.search))
        self._rows = tuple(tries)
        self._all = (1 << 2 * len(rows)) - 1

    def _sort_in(self, bit: int, signs: Signs) -> None:
        if not signs:
            self._always |= bit
        for sign in signs:
            letters = sign.letters
            table = self._whole if sign.whole else self._parts if _RUN.fullmatch(letters) else self._marks
            table[letters] = table.get(letters, 0) | bit

    def search(self, text: str, words: Sequence[str]) -> tuple[Pattern, ...]:
        """The patterns that fire on a text, in table order; `words` are all its runs of letters and digits."""
        try:
            held = reduce(or_, map(self._words.__getitem__, words), self._always)
        except KeyError:
            held = reduce(or_, map(self._calls, words), self._always)
        for mark, bits in self._marks.items():
            if mark in text:
                held |= bits
        wanted = held & held >> len(self._rows)
        found: list[Pattern] = []
        while wanted:
            lowest = wanted & -wanted
            pattern, search = self._rows[lowest.bit_length() - 1]
            if search(text) and (not found or found[-1] is not pattern):
                found.append(pattern)
            wanted ^= lowest
        return tuple(found)

    def _calls(self, word: str) -> int:
        known = self._words.get(word)
        if known is not None:
            return known
        if len(word) > LONGEST:
            return self._all
        bits = 0
        for run in _RUN.findall(word):
            bits |= self._whole.get(run, 0)
        for letters, called in self._parts.items():
            if letters in word:
                bits |= called
        if len(self._words) >= REMEMBERED:
            self._words.clear()
        self._words[word] = bits
        return bits
