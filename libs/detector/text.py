"""Prepare texts: truncate them, remove code, markup and quotations, and normalise characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Final

#: Characters kept of the beginning and the end of a long message, where verdicts usually are.
HEAD: Final = 1200
TAIL: Final = 400
#: Number of words above which patterns see only the first and last sentences of a text, and their maximum words.
SAID: Final = 45
OPENING: Final = 30
CLOSING: Final = 15

_CODE_BLOCK = re.compile(r"```[^`]*(?:```|$)|~~~[^~]*(?:~~~|$)")
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]{0,3}>[^\n]*$")
_URL = re.compile(r"https?://[^\s]{1,500}")
#: Characters, at least one of which is in any code, markup, quotation or URL.
_MARK = re.compile(r"[`~<>/]")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SPELLING = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "…": "...", "\u00a0": " "})
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_STOP: Final = """
a an the i you it that this these those he she they we me my your our their his her its is are was were be
been am do does did have has had can could will would should of in on at to for from with and or but not no
yes so if as by about what which who when where why how there here please just i'm it's that's don't didn't
i'd i'll i've
"""
#: Words too frequent to indicate the subject of a text.
STOP: Final = frozenset(_STOP.split())


@dataclass(frozen=True, slots=True)
class Prepared:
    """Text without code, markup and quotations.

    Attributes:
        text: The text in lower case, with single spaces.
        words: Its words, in order.
        content: Its words without very frequent ones.
        numbers: Its numbers.
        excerpt: The first and last sentences of a long text, or all of a short one. Feedback is usually there, and
            a longer text would match more patterns by chance.
        coded: True if the text contained a code block.
    """

    text: str
    words: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]
    excerpt: str
    coded: bool


def cap(text: str) -> str:
    """Truncate a text to its first HEAD and last TAIL characters, to limit the processing time."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def prepare(text: str) -> Prepared:
    """Convert a text to its prepared form.

    Any text is accepted. Lone surrogates and control characters are kept. Results are cached, because a conversation's
    messages recur.
    """
    return _prepared(cap(text))


def may_contain(text: str, words: Iterable[str]) -> bool:
    """Return False only if the prepared text cannot contain any of the words. Preparing it takes 20 times as long."""
    return not text.isascii() or any(map(text.lower().__contains__, words))


@lru_cache(maxsize=4096)
def _prepared(shown: str) -> Prepared:
    coded = "```" in shown
    if _MARK.search(shown):
        for pattern in (_CODE_BLOCK, _INLINE_CODE, _QUOTED_LINE, _TAG, _URL):
            shown = pattern.sub(" ", shown)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown.translate(_SPELLING))
    lines, shown = shown, " ".join(shown.split()).lower()
    words = tuple(map(intern, _WORD.findall(shown)))
    return Prepared(
        text=shown,
        words=words,
        content=frozenset(words) - STOP,
        numbers=frozenset(_NUMBER.findall(shown)),
        excerpt=shown if len(words) <= SAID else _ends(lines),
        coded=coded,
    )


def _ends(text: str) -> str:
    """Return the beginning and the end of a text.

    The beginning consists of as many sentences as are needed for `OPENING // 2` words, and the end is the last
    sentence. Both are truncated, to `OPENING` and `CLOSING` words.
    """
    sentences = [s for s in _SENTENCE_END.split(text) if s.strip()]
    opening: list[str] = []
    while sentences and len(opening) < OPENING // 2:
        opening += sentences.pop(0).split()
    closing = sentences[-1].split()[:CLOSING] if sentences else []
    return " ".join([*opening[:OPENING], *closing]).lower()
