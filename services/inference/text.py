"""The text that the rules see: capped, without code, markup and quotations, in one spelling of quotes and spaces."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import filterfalse
from sys import intern
from typing import Final

#: Characters of a message that are looked at; a longer one keeps its head and its tail, where verdicts are said.
HEAD: Final = 1200
TAIL: Final = 400

_CODE_BLOCK = re.compile(r"```[^`]*(?:```|$)|~~~[^~]*(?:~~~|$)")
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]{0,3}>[^\n]*$")
_URL = re.compile(r"https?://[^\s]{1,500}")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SPELLING = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "…": "...", "\u00a0": " "})
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_STOP: Final = """
a an the i you it that this these those he she they we me my your our their his her its is are was were be
been am do does did have has had can could will would should of in on at to for from with and or but not no
yes so if as by about what which who when where why how there here please just i'm it's that's don't didn't
i'd i'll i've
"""
#: Words too common to say what a text is about.
STOP: Final = frozenset(_STOP.split())
_DIGIT = re.compile(r"\d")
#: What a text holds in which something may have to be taken out.
_ODD: Final = ("<", "`", ">", "~", "http")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message as the rules see it.

    `text` is lower-case, `words` its words in order, `content` those with a topic, `numbers` the figures in it,
    `coded` whether code was taken out.
    """

    text: str
    words: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]
    coded: bool = False

    @property
    def empty(self) -> bool:
        """No letter or digit in any script (nothing at all, emoji only, punctuation only)."""
        return not self.words


def cap(text: str) -> str:
    """At most HEAD + TAIL characters, so that a 100 kB message costs no more than a long one."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def prepare(text: str) -> Prepared:
    """Never fails, whatever the text; lone surrogates and control characters are let through as they are."""
    shown = cap(text)
    coded = "```" in shown
    if any(map(shown.__contains__, _ODD)):
        shown = _CODE_BLOCK.sub(" ", shown)
        shown = _INLINE_CODE.sub(" ", shown)
        shown = _QUOTED_LINE.sub(" ", shown)
        shown = _TAG.sub(" ", shown)
        shown = _URL.sub(" ", shown)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown.translate(_SPELLING))
    shown = " ".join(shown.split()).lower()
    words = tuple(map(intern, _WORD.findall(shown)))  # thousands of texts are kept, of the same words
    return Prepared(
        text=shown,
        words=words,
        content=frozenset(filterfalse(STOP.__contains__, words)),
        numbers=frozenset(_NUMBER.findall(shown)) if _DIGIT.search(shown) else frozenset(),
        coded=coded,
    )
