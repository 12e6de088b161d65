"""Reads the grammar files: hand-written situations and sayings, with choices and slots.

A file is one domain. Lines before the first section name the domain and its slots:

    domain movies
    slot item: Copper Harbor; Paper Tigers

Sections are named by a line of their own and end at the next one:

    context KIND                        request || answer [|| reply / reply / ...]
    message KIND LABEL TYPE GATE        one saying a line
    groups rephrase                     the same request in several words, separated by " / "
    misfit                              answers that miss the request

`{a|b|}` chooses one, `<x>` and `<x2>` are slots; the same name is the same value throughout one exchange.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "grammar"
QUESTIONS: Final = Path(__file__).parent / "questions"

_CHOICE = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"<([a-z]+)(\d?)>")
_BETWEEN_VALUES = re.compile(r";\s+")
_SECTION = re.compile(r"^(context|message|groups|misfit)\b(.*)$")


@dataclass(frozen=True, slots=True)
class Saying:
    """Sentence that a person may write after an answer, with its meaning."""

    text: str
    label: str
    kind: str
    gate: str


@dataclass(frozen=True, slots=True)
class Situation:
    """Request and answer; `replies` answer the agent's own question and are not feedback on its work."""

    kind: str
    request: str
    answer: str
    replies: tuple[str, ...] = ()


@dataclass(slots=True)
class Domain:
    """One grammar file."""

    name: str = ""
    slots: dict[str, list[str]] = field(default_factory=dict)
    situations: list[Situation] = field(default_factory=list)
    sayings: dict[str, list[Saying]] = field(default_factory=dict)
    groups: list[list[str]] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    shares: dict[str, int] = field(default_factory=dict)


def read(path: Path) -> Domain:
    """Read one file as a domain."""
    domain = Domain()
    section: tuple[str, list[str]] = ("", [])
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        opened = _SECTION.match(line)
        if opened and (opened[1] == "misfit" or len(opened[2].split()) in {1, 4}) and "||" not in line:
            section = (opened[1], opened[2].split())
        elif line.startswith("domain "):
            domain.name = line.removeprefix("domain ").strip()
        elif line.startswith("slot "):
            name, _, values = line.removeprefix("slot ").partition(":")
            domain.slots[name.strip()] = [v.strip() for v in _BETWEEN_VALUES.split(values)]
        elif line.startswith("share "):
            parts = line.split()[1:]
            domain.shares = {name: int(share) for name, share in zip(parts[::2], parts[1::2], strict=True)}
        else:
            _add(domain, section, line)
    return domain


def _add(domain: Domain, section: tuple[str, list[str]], line: str) -> None:
    name, arguments = section
    if name == "context":
        parts = [p.strip() for p in line.split("||")]
        replies = tuple(r.strip() for r in parts[2].split(" / ")) if len(parts) > 2 else ()
        domain.situations.append(Situation(arguments[0], parts[0], parts[1], replies))
    elif name == "message":
        domain.sayings.setdefault(arguments[0], []).append(Saying(line, *arguments[1:]))
    elif name == "groups":
        domain.groups.append([p.strip() for p in line.split(" / ")])
    elif name == "misfit":
        domain.misfits.append(line)
    else:
        raise ValueError(f"{domain.name}: a line outside of any section: {line!r}")


def load(folder: Path = FOLDER) -> list[Domain]:
    """Load all domains, in order of their file names."""
    return [read(path) for path in sorted(folder.glob("*.txt"))]


def expand(text: str, rng: random.Random) -> str:
    """Choose one alternative at each choice in a text."""
    while found := _CHOICE.search(text):
        text = text[: found.start()] + rng.choice(found[1].split("|")) + text[found.end() :]
    return text


class Filling:
    """Slot values of one exchange: the same slot keeps its value, and `<x2>` has another value than `<x>`."""

    def __init__(self, slots: dict[str, list[str]], rng: random.Random) -> None:
        self._slots = slots
        self._rng = rng
        self._chosen: dict[tuple[str, str], str] = {}

    def fill(self, text: str) -> str:
        """Return the text with its choices made and its slots filled; a value may have choices and slots itself."""
        return _SLOT.sub(lambda m: self._value(m[1], m[2]) if m[1] in self._slots else m[0], expand(text, self._rng))

    def _value(self, name: str, number: str) -> str:
        if (name, number) not in self._chosen:
            taken = {v for (n, _), v in self._chosen.items() if n == name}
            left = [v for v in self._slots[name] if v not in taken] or self._slots[name]
            value = self._rng.choice(left)
            self._chosen[name, number] = value
            if "{" in value or "<" in value:
                self._chosen[name, number] = self.fill(value)
        return self._chosen[name, number]


@dataclass(slots=True)
class Questions:
    """Subjects with their other names, and intents with their phrasings; any intent goes with any subject."""

    subjects: list[list[str]] = field(default_factory=list)
    intents: list[list[str]] = field(default_factory=list)


def read_questions(path: Path) -> Questions:
    """Read one file of `subject: name / name` and `intent NAME: phrasing / phrasing` lines."""
    found = Questions()
    for line in path.read_text(encoding="utf-8").splitlines():
        head, _, rest = line.partition(":")
        kept = found.subjects if head == "subject" else found.intents
        kept.append([part.strip() for part in rest.split(" / ")])
    return found


def load_questions(folder: Path = QUESTIONS) -> list[Questions]:
    """Load all files, in order of their names."""
    return [read_questions(path) for path in sorted(folder.glob("*.txt"))]
