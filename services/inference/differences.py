"""Comparison of stored verdicts with the verdicts of a new judgement. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from detector.model import Verdict
from inference.store import MessageKey

Difference = Literal["unchanged", "withdrawn", "added", "reversed", "moved"]
"""Kind of difference between two verdicts on a message.

`withdrawn`: only the old verdict is feedback; `added`: only the new verdict is feedback; `reversed`: accepted became
rejected or vice versa; `moved`: the verdict is the same, but about another turn.
"""
SHOWN: Final = 20


class AnnouncedVerdict(NamedTuple):
    """The announced part of a verdict: `rejected` or `accepted`, and the turn it is about."""

    feedback: str
    turn_id: str

    @classmethod
    def of(cls, verdict: Verdict) -> AnnouncedVerdict | None:
        """Return the announced part of a verdict, or None if the verdict is not announced."""
        target = verdict.target if verdict.emitted else None
        return cls(verdict.feedback, target.turn_id) if target else None


def difference(before: AnnouncedVerdict | None, after: AnnouncedVerdict | None) -> Difference:
    """Return the kind of difference between two verdicts on a message."""
    if before == after:
        return "unchanged"
    if before is None or after is None:
        return "added" if before is None else "withdrawn"
    return "reversed" if before.feedback != after.feedback else "moved"


class Example(NamedTuple):
    """A message with its verdicts before and after the new judgement.

    `text` is a person's words: show it only in the operator's own terminal.
    """

    key: MessageKey
    before: AnnouncedVerdict | None
    after: AnnouncedVerdict | None
    text: str


@dataclass
class Differences:
    """Number of judged messages per kind of difference, with up to twenty examples of each kind of change."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Example]] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        return self.counts.total()

    def add(self, example: Example) -> None:
        """Count a message, and keep it as an example if it is among the first of its kind."""
        kind = difference(example.before, example.after)
        self.counts[kind] += 1
        kept = self.kept.setdefault(kind, [])
        if kind != "unchanged" and len(kept) < SHOWN:
            kept.append(example)

    def examples(self) -> Sequence[tuple[str, Example]]:
        """Return up to twenty examples of changed verdicts, each with its kind of difference.

        All kinds are represented: first comes one example of each kind, then a second one of each, and so on.
        """
        rows = [(n, kind, one) for kind, kept in sorted(self.kept.items()) for n, one in enumerate(kept)]
        return [(kind, one) for _, kind, one in sorted(rows, key=lambda row: row[:2])[:SHOWN]]
