"""Comparison of the stored verdict on a message with its new verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from detector.model import Verdict
from inference.store import MessageKey

Difference = Literal["unchanged", "withdrawn", "added", "reversed", "moved"]
"""Kind of difference. `withdrawn`: the message no longer gives feedback; `added`: only the new verdict is feedback;
`reversed`: accepted became rejected or vice versa; `moved`: the same verdict is now about another turn.
"""
SHOWN: Final = 20


class AnnouncedVerdict(NamedTuple):
    """Content of an announced verdict: `rejected` or `accepted`, and the id of the judged turn."""

    feedback: str
    turn_id: str

    @classmethod
    def of(cls, verdict: Verdict) -> AnnouncedVerdict | None:
        """Return the content that announces `verdict`; None if it is not announced."""
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
    """Message with its verdicts before and after. `text` may be shown only on the operator's own terminal."""

    key: MessageKey
    before: AnnouncedVerdict | None
    after: AnnouncedVerdict | None
    text: str


@dataclass
class Differences:
    """Number of messages by kind of difference, with up to twenty examples of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Example]] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        return self.counts.total()

    def add(self, example: Example) -> None:
        """Count a message by the change of its verdict, and keep the first examples of each change."""
        kind = difference(example.before, example.after)
        self.counts[kind] += 1
        kept = self.kept.setdefault(kind, [])
        if kind != "unchanged" and len(kept) < SHOWN:
            kept.append(example)

    def examples(self) -> Sequence[tuple[str, Example]]:
        """Return at most twenty changed messages, alternating between the kinds of difference."""
        rows = [(n, kind, one) for kind, kept in sorted(self.kept.items()) for n, one in enumerate(kept)]
        return [(kind, one) for _, kind, one in sorted(rows, key=lambda row: row[:2])[:SHOWN]]
