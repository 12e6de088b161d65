"""The table of patterns, and how a text is matched against it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from inference.patterns import agent_english, chinese, english, french, german, spanish
from inference.patterns.screen import Screen
from inference.patterns.table import Kind, Pattern
from inference.text import Prepared

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

__all__ = ["AGENT", "LANGUAGES", "Kind", "Pattern", "agent_hits", "human_hits", "kinds"]


@cache
def _screen(language: str) -> Screen | None:
    patterns = LANGUAGES.get(language)
    return Screen(patterns) if patterns else None


_ENGLISH: Final = Screen(english.PATTERNS)
_AGENT: Final = Screen(AGENT)


def human_hits(message: Prepared, language: str = "en") -> tuple[Pattern, ...]:
    """The patterns for people's messages that fire on a prepared text, in table order.

    English is always looked for, the tables of other languages only in messages of that language.
    """
    found = _ENGLISH.search(message.text, message.words)
    other = _screen(language) if language != "en" else None
    return found + other.search(message.text, message.words) if other else found


def agent_hits(message: Prepared) -> tuple[Pattern, ...]:
    """The patterns for agents' messages that fire on a prepared text, in table order."""
    return _AGENT.search(message.text, message.words)


def kinds(found: Iterable[Pattern]) -> frozenset[Kind]:
    """The kinds of the given hits."""
    return frozenset(p.kind for p in found)
