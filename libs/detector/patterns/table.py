"""Type of a pattern, and the function that builds the pattern tables. Each language has a module with its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: Kind of a pattern. The kind determines the effect of a match on the verdict.
#:   reject         rejects the answer; decides alone
#:   reject_stated  like reject, unless it answers an open question of the agent ("too late", "no, the red one")
#:   restate        "I want ...": rejects the answer if it adds a detail to the request
#:   meant          "I wanted to know ...": explains the request, and rejects the answer to it
#:   abandon        gives up on the request; decides alone
#:   thanks         thanks for the answer or praises it; decides alone
#:   action         accepts an offer; decides alone
#:   follow         builds on the answer; decides alone
#:   acknowledge    "ok", "I see": says only that the answer was read
#:   postpone       "not now", "maybe later": declines an offer, which is not feedback on the work
#:   ask_agent      a question about the agent itself ("do you like music?"), as in small talk
#:   cue_*          evidence that counts only together with other evidence
#:   veto           makes negative words harmless ("no problem", "nothing wrong with it")
#:   agent_*        the agent's message asks, asks for confirmation, offers, proposes an action, suggests something by a
#:                  question ("how about ...?"), fails, ...
Kind = Literal[
    "reject",
    "abandon",
    "thanks",
    "action",
    "follow",
    "reject_stated",
    "restate",
    "meant",
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """Named regular expression for prepared text, which has lower case, single spaces and straight quotes.

    `name` starts with the language and is unique across languages, so that a verdict can be traced back to one pattern.
    """

    name: str
    kind: Kind
    source: str
    regex: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regex", re.compile(self.source))


def table(language: str, *rows: tuple[Kind, str, str], pieces: Mapping[str, str] | None = None) -> tuple[Pattern, ...]:
    """Build the patterns of a language.

    Args:
        language: Language code, the first part of each pattern's name (`language.short_name`).
        rows: The kind, the short name and the regular expression of each pattern.
        pieces: Replacements for `<name>` in the expressions, keyed by name.
    """
    found = []
    for kind, name, source in rows:
        for piece, text in (pieces or {}).items():
            source = source.replace(f"<{piece}>", text)
        found.append(Pattern(f"{language}.{name}", kind, source))
    return tuple(found)
