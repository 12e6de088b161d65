"""Distinctive words of issues, computed with c-TF-IDF (Grootendorst, BERTopic, 2022). No I/O."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import Final

from reporting.issues.function_words import FUNCTION_WORDS

MOST_WORDS: Final = 40
"""Maximum number of words stored for a turn."""
_TITLE: Final = 4
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")


def words_of(question: str, complaint: str) -> list[str]:
    """Return up to MOST_WORDS distinct words of a turn in order of occurrence, without stop words.

    The complaint is used only if the question is unknown.
    """
    words = (word.lower() for word in _WORD.findall(question or complaint))
    return list(dict.fromkeys(word for word in words if word not in FUNCTION_WORDS))[:MOST_WORDS]


def titles(issues: Mapping[int, Iterable[Sequence[str]]]) -> dict[int, list[str]]:
    """Return up to four distinctive words of each issue, most distinctive first.

    Words that occur in only one turn are used only if fewer than two words occur in several turns.

    Args:
        issues: The words of each turn, for all issues of an agent.
    """
    counts = {issue: Counter(word for turn in turns for word in turn) for issue, turns in issues.items()}
    total = Counter[str]()
    for of_issue in counts.values():
        total.update(of_issue)
    average = total.total() / max(1, len(counts))
    return {issue: _title(of_issue, total, average) for issue, of_issue in counts.items()}


def _title(counts: Counter[str], overall: Counter[str], average: float) -> list[str]:
    total = max(1, counts.total())
    scored = {word: n / total * log(1 + average / overall[word]) for word, n in counts.items()}
    shared = _without_forms(
        sorted(
            (candidate for candidate in scored if counts[candidate] > 1),
            key=lambda candidate: (-scored[candidate], candidate),
        )
    )
    single = sorted(
        (candidate for candidate in scored if counts[candidate] == 1),
        key=lambda candidate: (-scored[candidate], candidate),
    )
    return (shared if len(shared) > 1 else _without_forms([*shared, *single]))[:_TITLE]


def _without_forms(words: Collection[str]) -> list[str]:
    """Remove words that start like an earlier word, such as "refunds" after "refund"."""
    kept: list[str] = []
    for word in words:
        if not any(word.startswith(other[:5]) or other.startswith(word[:5]) for other in kept if len(other) > 3):
            kept.append(word)
    return kept
