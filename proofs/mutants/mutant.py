"""A small change of a file, as a replacement of its text."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """Replacement of the characters from `start` to `end` of `file` by `after`; `kind` names the operator.

    `line` is the first line of the replaced text, `before` the replaced text.
    """

    file: str
    start: int
    end: int
    after: str
    kind: str
    line: int
    before: str

    def applied_to(self, text: str) -> str:
        """Return `text` with the mutant applied. Raises ValueError unless `before` is at its position."""
        if text[self.start : self.end] != self.before:
            raise ValueError(f"{self.file} has changed since the mutant was made")
        return text[: self.start] + self.after + text[self.end :]

    def changed_lines(self, text: str) -> tuple[str, str]:
        """Return the changed lines of `text` before and after, without indentation."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        broken = text[first : self.start] + self.after + text[self.end : last]
        return text[first:last].strip(), broken.strip()

    def diff(self, text: str) -> str:
        """Return the mutant as a unified diff."""
        lines = difflib.unified_diff(
            text.splitlines(), self.applied_to(text).splitlines(), self.file, self.file, lineterm="", n=2
        )
        return "\n".join(lines)
