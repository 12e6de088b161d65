"""Find the words of a message that support its verdict. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from detector.patterns import LANGUAGES, Pattern
from detector.text import prepare

#: Characters to strip from the ends of a match.
_AROUND = " ,.!?;:-"


def supporting_words(said: str, rules: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a message that match the patterns in `rules`, in order of occurrence.

    The parts are in lower case, because patterns match lower-case text. A part contained in a longer one is omitted.
    Names in `rules` that do not belong to a pattern are ignored.
    """
    text = prepare(said).said
    patterns = [pattern for name in rules if (pattern := _by_name().get(name))]
    found = sorted((match.start(), -match.end()) for pattern in patterns if (match := pattern.regex.search(text)))
    parts, end = [], 0
    for first, minus_last in found:
        if -minus_last > end:
            end = -minus_last
            parts.append(text[first:end].strip(_AROUND))
    return tuple(part for part in dict.fromkeys(parts) if part)


@cache
def _by_name() -> dict[str, Pattern]:
    return {pattern.name: pattern for patterns in LANGUAGES.values() for pattern in patterns}
