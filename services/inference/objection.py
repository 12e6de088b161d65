"""Extraction of the objection from a message that rejects an answer. No I/O."""

from __future__ import annotations

import re
from typing import Final

from detector.language import own_language
from detector.text import prepare
from detector.words import names_in

_CLAUSE_END: Final = re.compile(r"(?<=[.!?:;,…])\s+|\s+[-–—]\s+|\n+|(?<=[。！？，；：])")


def objection(text: str) -> str:
    """Return the part of the message that states the objection, on one line.

    It starts at the first clause that names something: "No, that's wrong: I meant the museum." gives "I meant the
    museum." If no clause names anything, the whole message is returned.
    """
    prepared = prepare(text)
    language = own_language(prepared.text, prepared.words) or "en"
    starts = [0, *(clause.end() for clause in _CLAUSE_END.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if names_in(prepare(text[start:end]).content, language):
            return " ".join(text[start:].split())
    return " ".join(text.split())
