"""Type of a pattern. The tables are data, one module per language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: What a hit means.
#:   reject      the answer is turned down; enough alone
#:   abandon     the person gives up on the request; enough alone
#:   thanks      thanks or praise for the answer; enough alone
#:   action      the person takes what was offered; enough alone
#:   follow      the person builds on the answer; enough alone
#:   cue_*       says something only together with the rest; never enough alone
#:   veto        makes the negative words of the message harmless ("no problem", "nothing wrong with it")
#:   reject_stated  the same, unless it answers an open question of the agent ("too late", "no, the red one")
#:   restate     "I want ...", which turns down an answer that it changes the request of
#:   meant       "I wanted to know ...", the request as it was meant; turns an answer to it down
#:   acknowledge "ok", "I see": nothing more than having read it
#:   postpone    "not now", "maybe later": turns an offer down, not the work
#:   ask_agent   a question about the agent itself ("do you like music?"), as in small talk
#:   agent_*     what the agent's message does: asks, asks to confirm, offers, proposes to do something, suggests
#:               something by a question ("how about ...?"), fails, ...
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
    """Named regular expression over lower-case text with single spaces and straight quotes.

    `name` is unique over all languages and starts with the language, so that a verdict can be traced to one line.
    """

    name: str
    kind: Kind
    source: str
    regex: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "regex", re.compile(self.source))


def table(language: str, *rows: tuple[Kind, str, str], pieces: Mapping[str, str] | None = None) -> tuple[Pattern, ...]:
    """Return rows of (kind, short name, regular expression) as patterns named `language.short_name`.

    `<name>` in an expression is replaced by the piece of that name.
    """
    found = []
    for kind, name, source in rows:
        for piece, text in (pieces or {}).items():
            source = source.replace(f"<{piece}>", text)
        found.append(Pattern(f"{language}.{name}", kind, source))
    return tuple(found)
