"""The table of patterns, and how a text is matched against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from inference.patterns import agent_english, english
from inference.patterns.table import Kind, Pattern

#: What a person's message is matched against.
HUMAN: Final[tuple[Pattern, ...]] = english.PATTERNS

#: What an agent's message is matched against.
AGENT: Final[tuple[Pattern, ...]] = agent_english.PATTERNS

__all__ = ["AGENT", "HUMAN", "Kind", "Pattern", "hits", "kinds"]


def hits(text: str, patterns: Iterable[Pattern] = HUMAN) -> tuple[Pattern, ...]:
    """The patterns that fire on a prepared text, in table order."""
    return tuple(p for p in patterns if p.regex.search(text))


def kinds(found: Iterable[Pattern]) -> frozenset[Kind]:
    """The kinds of the given hits."""
    return frozenset(p.kind for p in found)
