"""Patterns: named regular expressions for what a message, or the answer before it, says.

Each language has a file with one pattern per line: kind, name and expression, separated by tabs. Patterns are applied
to prepared text, which has lower case, single spaces and straight quotes. Kinds that start with `agent_` describe the
agent's message.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, cast, get_args

from detector.model import Role
from detector.patterns.required import required
from detector.text import Prepared

#: Kind of a pattern.
#:   reject         rejects the answer
#:   reject_stated  rejects the answer, unless it answers an open question of the agent ("too late", "the red one")
#:   restate        "I want ...": rejects the answer if it adds a detail to the request
#:   abandon        gives up on the request
#:   thanks         thanks for the answer or praises it
#:   action         accepts an offer
#:   follow         builds on the answer
#:   acknowledge    "ok", "I see": says only that the answer was read
#:   postpone       "not now", "maybe later": declines an offer
#:   cue_*          evidence that counts only together with other evidence
#:   veto           makes negative words harmless ("no problem", "nothing wrong with it")
#:   agent_*        the agent's message asks, asks for confirmation, proposes an action, suggests something, fails, ...
Kind = Literal[
    "reject",
    "reject_stated",
    "restate",
    "meant",
    "abandon",
    "thanks",
    "action",
    "follow",
    "acknowledge",
    "postpone",
    "ask_agent",
    "cue_reject",
    "cue_no",
    "cue_yes",
    "cue_clarify",
    "cue_other",
    "cue_repeat",
    "cue_want",
    "cue_taste",
    "cue_praise",
    "cue_bye",
    "cue_topic",
    "cue_edit",
    "cue_ask",
    "cue_but",
    "veto",
    "agent_asks",
    "agent_confirms",
    "agent_offers",
    "agent_proposes",
    "agent_suggests",
    "agent_fails",
    "agent_succeeds",
    "agent_closes",
]
Kinds = frozenset[Kind]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
HOME: Final = Path(__file__).parent
#: Number of characters of a required string that are looked up in a word.
LONGEST: Final = 6
#: Languages with patterns.
LANGUAGES: Final = tuple(sorted(path.stem for path in HOME.glob("*.tsv")))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Named regular expression. The name starts with the language (`en.is_wrong`)."""

    name: str
    kind: Kind
    source: str
    regex: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regex", re.compile(self.source))


@cache
def patterns_of(language: str) -> tuple[Pattern, ...]:
    """Return all patterns of a language, in the order of its file. A language without a file has none."""
    if language not in LANGUAGES:
        return ()
    lines = (HOME / f"{language}.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return tuple(Pattern(f"{language}.{name}", cast(Kind, kind), source) for kind, name, source in rows)


@cache
def _patterns_for(role: Role, language: str) -> tuple[Pattern, ...]:
    """Return the patterns of a language for the messages of a role."""
    return tuple(p for p in patterns_of(language) if p.kind.startswith("agent_") == (role == "agent"))


def human_hits(message: Prepared, language: str = "en") -> tuple[Pattern, ...]:
    """Return the patterns that match a person's message. Patterns without a required string in it are not tried."""
    possible = frozenset[int]().union(*[_possible(word, language) for word in message.excerpt.split(" ")])
    patterns = map(_patterns_for("human", language).__getitem__, sorted(possible))
    return tuple(p for p in patterns if p.regex.search(message.excerpt))


def agent_kinds(answer: Prepared, language: str = "en") -> Kinds:
    """Return the kinds of the patterns that match an agent's message."""
    return frozenset(p.kind for p in _patterns_for("agent", language) if p.regex.search(answer.excerpt))


@lru_cache(maxsize=16_384)
def _possible(word: str, language: str) -> frozenset[int]:
    """Return the indexes of the patterns with a required string that occurs in `word`."""
    strings, length = _strings(language), len(word)
    spans = [(start, min(length, start + LONGEST) + 1) for start in range(length)]
    parts = ["", *[word[start:end] for start, last in spans for end in range(start + 1, last)]]
    return frozenset[int]().union(*[strings[part] for part in parts if part in strings])


@cache
def _strings(language: str) -> dict[str, set[int]]:
    """Return the indexes of the patterns for people's messages by required string."""
    strings: defaultdict[str, set[int]] = defaultdict(set)
    for number, pattern in enumerate(_patterns_for("human", language)):
        for string in required(pattern.source):
            strings[string[:LONGEST]].add(number)
    return dict(strings)
