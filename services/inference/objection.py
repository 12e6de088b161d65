"""Extraction of the objection from a message that rejects an answer. No I/O."""

from __future__ import annotations

import re
from typing import Final

from detector.language import own_language
from detector.text import prepare
from detector.words import names_in

_CLAUSE_END: Final = re.compile(r"(?<=[.!?:;,…])\s+|\s+[-–—]\s+|\n+|(?<=[。！？，；：])")


def objection(said: str) -> str:
    """Return the part of the message that states the objection, on one line.

    It starts at the first clause that names something: "No, that's wrong: I meant the museum." gives "I meant the
    museum." If no clause names anything, the whole message is returned.
    """
    whole = prepare(said)
    language = own_language(whole.text, whole.words) or "en"
    starts = [0, *(found.end() for found in _CLAUSE_END.finditer(said))]
    for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
        if names_in(prepare(said[start:end]).content, language):
            return " ".join(said[start:].split())
    return " ".join(said.split())
