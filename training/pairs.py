"""Generation of pairs of requests with the label "same intent"."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from training.grammar import Domain, Questions, expand
from training.noise import spoken

PAIRS_OF_A_SUBJECT: Final = 40

Row = dict[str, Any]


def pairs(domains: list[Domain], questions: list[Questions], rng: random.Random) -> Iterator[Row]:
    """Yield pairs of requests: of one group (same intent) and of two groups (different), and the same of composed
    questions."""
    groups = [(d.name, g) for d in domains for g in d.groups]
    for name, group in groups:
        for place, first in enumerate(group):
            for other in group[place + 1 :]:
                yield _pair(name, first, other, True, rng)
            others = [g for n, g in groups if n == name and g is not group]
            yield _pair(name, first, rng.choice(rng.choice(others)), False, rng)
    for number, kind in enumerate(questions):
        for subject in kind.subjects:
            for _ in range(PAIRS_OF_A_SUBJECT):
                yield _composed(f"questions-{number}", subject, kind, rng)


_STORY: Final = (
    "{||||I'm 34 years old. |Hello, |Hi there. |I have a question. |It started last month. |My mother asked me: |"
    "I read a lot about this already. |It has been going on for two weeks now. |Please help. }"
)


def _composed(name: str, subject: list[str], kind: Questions, rng: random.Random) -> Row:
    """Return the same subject and intent in other words, or the same subject and similar words with another intent."""
    same = rng.random() < 0.5
    intent = rng.choice(kind.intents)
    first, other = rng.sample(intent, 2)
    if not same:
        other = rng.choice(rng.choice([i for i in kind.intents if i is not intent]))
    left = rng.choice(subject)
    right = rng.choice(subject) if same else left
    if not same and rng.random() < 0.25:
        right = rng.choice(rng.choice([s for s in kind.subjects if s is not subject]))
        other = rng.choice(intent)
    found = [_found(asking.replace("<s>", s), rng) for asking, s in ((first, left), (other, right))]
    return _pair(name, found[0], found[1], same, rng)


def _found(question: str, rng: random.Random) -> str:
    return expand(_STORY, rng) + question


def _pair(name: str, a: str, b: str, same: bool, rng: random.Random) -> Row:
    return {"domain": name, "a": spoken(a, rng), "b": spoken(b, rng), "same": same}
