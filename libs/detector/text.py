"""Prepare texts for the rules: truncate them, remove code, markup and quotations, and normalise characters."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import filterfalse
from sys import intern
from typing import Final

from detector.machine_text import by_machine

#: Characters kept of the beginning and the end of a long message, where verdicts usually are.
HEAD: Final = 1200
TAIL: Final = 400
#: Number of words above which only the first and last sentences of a text are searched, and their maximum words.
SAID: Final = 45
OPENING: Final = 30
CLOSING: Final = 15

_CODE_BLOCK = re.compile(r"```[^`]*(?:```|$)|~~~[^~]*(?:~~~|$)")
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]{0,3}>[^\n]*$")
_URL = re.compile(r"https?://[^\s]{1,500}")
#: Beginnings of lines written by a program: stack traces, logs, compiler messages.
_MACHINE = re.compile(
    r"^\s*(?:File \"|at [\w.$<>/]{2,80}\s?\(|Traceback\b|[\^~|\s]{3,}$|\d+ \|"
    r"|\[?\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|(?:npm|yarn|pnpm) (?:ERR|WARN|error)|-->|={5,}|-{5,}|\+{3,}"
    r"|[\w./\\-]{1,120}:\d+(?::\d+)?[:)]?|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|FAILED|FAIL)\b"
    r"|(?:[A-Z]\w{2,40})?(?:Error|Exception)\b(?:\[\w+\])?:|(?:Type|Syntax|Build|Runtime|Parsing) error: "
    r"|Failed to compile\b|(?:error|fatal|panic|warning)(?:\[\w+\])?: "
    r"|make: \*\*\*|\$ )"
)
_FAILED = re.compile(
    r"Failed to compile\b|^\s*[A-Z][a-z]+ error: |(?:Error|Exception|ERROR|FATAL|FAILED|Traceback)\b"
    r"|\b(?:error|fatal|panic)(?:\[\w+\])?:"
    r"|npm ERR|\*\*\* "
)
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
_DIGIT = re.compile(r"\d")
#: Substrings that show that code, markup, quotations or URLs may have to be removed.
_ODD: Final = ("<", "`", ">", "~", "http")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Text in the form that the rules use, without code, markup, quotations and program output.

    Attributes:
        text: The text in lower case, with single spaces.
        words: Its words, in order.
        content: Its words without very frequent ones.
        numbers: Its numbers.
        said: The first and last sentences of a long text, or all of a short one. Feedback is usually found there, and a
            longer text would match more patterns by chance.
        said_words: The words of `said`.
        coded: True if the text contained a code block.
        failed: True if the text contained a program's error message.
        by_machine: True if a client program wrote the text.
    """

    text: str
    words: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]
    said: str
    said_words: tuple[str, ...]
    coded: bool
    failed: bool
    by_machine: bool

    @property
    def empty(self) -> bool:
        """True if the text contains no letters or digits of any script, and no program error message."""
        return not self.words and not self.failed


def cap(text: str) -> str:
    """Truncate a text to its first HEAD and last TAIL characters, to limit the processing time."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def prepare(text: str) -> Prepared:
    """Convert a text to its prepared form.

    Any text is accepted. Lone surrogates and control characters are kept.
    """
    shown = cap(text)
    coded = "```" in shown
    if any(map(shown.__contains__, _ODD)):
        shown = _CODE_BLOCK.sub(" ", shown)
        shown = _INLINE_CODE.sub(" ", shown)
        shown = _QUOTED_LINE.sub(" ", shown)
        shown = _TAG.sub(" ", shown)
        shown = _URL.sub(" ", shown)
    failed = False
    if "\n" in shown or ":" in shown:
        shown, failed = _without_machine_lines(shown)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown.translate(_SPELLING))
    lines, shown = shown, " ".join(shown.split()).lower()
    words = tuple(map(intern, _WORD.findall(shown)))  # thousands of cached texts have words in common
    said, said_words = (shown, words) if len(words) <= SAID else _ends(lines)
    return Prepared(
        text=shown,
        words=words,
        content=frozenset(filterfalse(STOP.__contains__, words)),
        numbers=frozenset(_NUMBER.findall(shown)) if _DIGIT.search(shown) else frozenset(),
        said=said,
        said_words=said_words,
        coded=coded,
        failed=failed,
        by_machine=by_machine(text),
    )


def _without_machine_lines(text: str) -> tuple[str, bool]:
    """Remove lines of program output.

    Returns:
        The remaining text, and True if one of the removed lines reports an error.
    """
    kept, failed = [], False
    for line in text.split("\n"):
        if _MACHINE.match(line):
            failed = failed or _FAILED.search(line) is not None
        else:
            kept.append(line)
    return "\n".join(kept), failed


def _ends(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the beginning and the end of a text, and their words.

    The beginning consists of as many sentences as are needed for `OPENING // 2` words, and the end is the last
    sentence. Both are truncated, to `OPENING` and `CLOSING` words.
    """
    sentences = [s for s in _SENTENCE_END.split(text) if s.strip()]
    opening: list[str] = []
    while sentences and len(opening) < OPENING // 2:
        opening += sentences.pop(0).split()
    closing = sentences[-1].split()[:CLOSING] if sentences else []
    said = " ".join([*opening[:OPENING], *closing]).lower()
    return said, tuple(map(intern, _WORD.findall(said)))
