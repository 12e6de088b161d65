"""The table of patterns, and how a text is matched against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from inference.patterns import agent_english, chinese, english, french, german, spanish
from inference.patterns.table import Kind, Pattern

#: What a person's message is matched against, by language.
LANGUAGES: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": english.PATTERNS,
    "de": german.PATTERNS,
    "fr": french.PATTERNS,
    "es": spanish.PATTERNS,
    "zh": chinese.PATTERNS,
}

#: What an agent's message is matched against.
AGENT: Final[tuple[Pattern, ...]] = agent_english.PATTERNS

_ENGLISH: Final = tuple((p, p.regex.search) for p in english.PATTERNS)
_AGENT: Final = tuple((p, p.regex.search) for p in AGENT)
_OTHER: Final = {
    language: tuple((p, p.regex.search) for p in patterns)
    for language, patterns in LANGUAGES.items()
    if language != "en"
}

__all__ = ["AGENT", "LANGUAGES", "Kind", "Pattern", "agent_hits", "human_hits", "kinds"]


def human_hits(text: str, language: str = "en") -> tuple[Pattern, ...]:
    """The patterns for people's messages that fire on a prepared text, in table order.

    English is always looked for, the tables of other languages only in messages of that language.
    """
    found = tuple(p for p, search in _ENGLISH if search(text))
    other = _OTHER.get(language)
    return found + tuple(p for p, search in other if search(text)) if other else found


def agent_hits(text: str) -> tuple[Pattern, ...]:
    """The patterns for agents' messages that fire on a prepared text, in table order."""
    return tuple(p for p, search in _AGENT if search(text))


def kinds(found: Iterable[Pattern]) -> frozenset[Kind]:
    """The kinds of the given hits."""
    return frozenset(p.kind for p in found)
