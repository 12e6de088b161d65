"""Chat commands and their parser. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "/up": "the last answer was good",
    "/down [why]": "the last answer was wrong, and why",
    "/react EMOJI": "put an emoji on the last answer, such as 😂 or :heart:",
    "/reply TURN TEXT": "reply to an earlier answer, such as /reply turn-1 That's wrong",
    "/clear": "withdraw your feedback on the last answer",
    "/timeline": "the conversation as the agent sees it, feedback included",
    "/memory status": "how many session feedback records are stored",
    "/end": "end the session, with a rating if you like",
    "/exit": "the same, with the option to leave without saving",
    "/help": "this list",
}
_NAMES: Final = {line.split()[0] for line in COMMANDS}
_WITH_REST: Final = {"/down", "/react", "/reply"}


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message to the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A chat command. `rest` is the text after its name."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Input that is not understood. `hint` tells the user what to type instead."""

    hint: str


def read_line(line: str) -> SentMessage | Command | Unknown | None:
    """Parse a typed line, and return None if it is empty.

    A line that starts with two slashes is a message that starts with one.
    """
    text = line.strip()
    if not text:
        return None
    if text.startswith("//"):
        return SentMessage(text[1:])
    if not text.startswith("/"):
        return SentMessage(text)
    name, _, rest = text.partition(" ")
    name, rest = name.lower(), rest.strip()
    if name not in _NAMES:
        return Unknown(f"There is no {name}; /help lists the commands.")
    if name == "/memory" and rest.lower() != "status":
        return Unknown("Type /memory status.")
    if name == "/react" and not rest:
        return Unknown("Which emoji? For example /react 😂.")
    if name == "/reply" and not rest.partition(" ")[2].strip():
        return Unknown("Which answer, and what? For example /reply turn-1 That's wrong.")
    if rest and name not in _WITH_REST and name != "/memory":
        return Unknown(f"{name} takes no argument.")
    return Command(name, rest)
