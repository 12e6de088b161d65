"""Queries for one agent: its worst conversations, and the words typical of rejected questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

import asyncpg

from reporting.queries.function_words import FUNCTION_WORDS
from reporting.queries.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


@dataclass(frozen=True, slots=True)
class BadConversation:
    """Conversation with rejected answers.

    Attributes:
        turn_id: Turn of the newest rejection.
        people: Number of rejections by people who used the agent.
        machine: Number of rejections by the machine and by reviewers.
        last_at: Time of the newest rejection, in microseconds.
    """

    conversation_id: str
    turn_id: str
    people: int
    machine: int
    last_at: int
    question: str | None
    """First question of the conversation; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class TypicalWord:
    """Word that is more frequent in questions with rejected answers than in other questions.

    Attributes:
        rejected: Number of turns with a rejected answer whose question contains the word.
        others: Number of other turns whose question contains the word.
        ratio: Frequency of the word in rejected questions, divided by its frequency in the others.
        low: Lower bound of the 95 % confidence interval of `ratio`.
        high: Upper bound of that interval.
    """

    word: str
    rejected: int
    others: int
    ratio: float
    low: float
    high: float


_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_SURE: Final = 1.96
MOST_REJECTIONS: Final = 2_000
"""Maximum number of an agent's newest rejections that are counted by conversation."""


async def worst_conversations(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, limit: int = 10
) -> list[BadConversation]:
    """Return the conversations with the most rejections by people.

    Rejections by the machine break ties. Only the newest MOST_REJECTIONS rejections are counted.
    """
    condition, values = where(at, span, filters)
    statement = SQL.worst_conversations.filled(view=filters.view, where=condition)
    rows = await pool.fetch(*statement(**values, limit=limit, most=MOST_REJECTIONS))
    return [BadConversation(**dict(row)) for row in rows]


async def rejected_words(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> list[TypicalWord]:
    """Return the words that are typical of rejected questions.

    Reads at most the newest 400 rejected turns and the newest 400 other turns.
    """
    condition, values = where(at, span, filters)
    rows = await pool.fetch(*SQL.questions_of_verdicts.filled(view=filters.view, where=condition)(**values))
    return typical_words(
        [row["content"] for row in rows if row["rejected"] and row["content"]],
        [row["content"] for row in rows if not row["rejected"] and row["content"]],
    )


def typical_words(rejected: Iterable[str], others: Iterable[str], most: int = 12) -> list[TypicalWord]:
    """Return the words that are significantly more frequent in `rejected` texts than in `others`.

    A word must occur in at least three rejected texts, and the 95 % confidence interval of its frequency ratio (Katz,
    with 0.5 added to each count) must be above 1. Function words are ignored. The words are sorted by the lower bound
    of the interval, highest first.
    """
    bad, good = [_words(text) for text in rejected], [_words(text) for text in others]
    in_bad, in_good = (Counter(word for words in texts for word in words) for texts in (bad, good))
    scored = []
    for word, count in in_bad.items():
        a, m = count + 0.5, len(bad) + 0.5
        c, n = in_good[word] + 0.5, len(good) + 0.5
        ratio, error = (a / m) / (c / n), sqrt(1 / a - 1 / m + 1 / c - 1 / n)
        low, high = ratio * exp(-_SURE * error), ratio * exp(_SURE * error)
        if count >= 3 and low > 1:
            scored.append((-low, TypicalWord(word, count, in_good[word], ratio, low, high)))
    return [word for _, word in sorted(scored, key=lambda one: (one[0], one[1].word))[:most]]


def _words(text: str) -> frozenset[str]:
    words = frozenset(word.lower() for word in _WORD.findall(text))
    return words - FUNCTION_WORDS
