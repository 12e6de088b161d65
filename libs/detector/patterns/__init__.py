"""Pattern tables for all languages, and functions that match a text against them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from detector.patterns import (
    agent_english,
    agent_others,
    chinese,
    english,
    french,
    german,
    italian,
    japanese,
    portuguese,
    russian,
    spanish,
)
from detector.patterns.screen import Screen
from detector.patterns.table import Kind, Pattern
from detector.text import Prepared

#: Patterns for people's messages, by language.
LANGUAGES: Final[dict[str, tuple[Pattern, ...]]] = {
    "en": english.PATTERNS,
    "de": german.PATTERNS,
    "fr": french.PATTERNS,
    "es": spanish.PATTERNS,
    "it": italian.PATTERNS,
    "pt": portuguese.PATTERNS,
    "zh": chinese.PATTERNS,
    "ja": japanese.PATTERNS,
    "ru": russian.PATTERNS,
}

#: Patterns for agents' messages, by language.
AGENT: Final[dict[str, tuple[Pattern, ...]]] = {"en": agent_english.PATTERNS, **agent_others.PATTERNS}

__all__ = ["AGENT", "LANGUAGES", "Kind", "Pattern", "agent_hits", "human_hits", "kinds"]


@cache
def _people(language: str) -> Screen | None:
    patterns = LANGUAGES.get(language)
    return Screen(patterns) if patterns else None


@cache
def _agents(language: str) -> Screen:
    return Screen(AGENT.get(language, agent_others.ANY))


def human_hits(message: Prepared, language: str = "en") -> tuple[Pattern, ...]:
    """Return the patterns of a language that match a person's prepared text, in table order."""
    screen = _people(language)
    return screen.search(message.said) if screen else ()


def agent_hits(message: Prepared, language: str = "en") -> tuple[Pattern, ...]:
    """Return the patterns of a language that match an agent's prepared text, in table order."""
    return _agents(language).search(message.said)


def kinds(found: Iterable[Pattern]) -> frozenset[Kind]:
    """Return the kinds of the given patterns."""
    return frozenset(p.kind for p in found)
