"""Differences between the stored verdict of a message and a new one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from detector.model import Verdict
from inference.store import MessageKey

Difference = Literal["unchanged", "withdrawn", "added", "reversed", "moved"]
"""`withdrawn`: the message no longer gives feedback; `added`: it gives feedback only with the other detector;
`reversed`: accepted became rejected or vice versa; `moved`: the same verdict on another turn."""
SHOWN: Final = 20


class AnnouncedVerdict(NamedTuple):
    """An announced verdict: `rejected` or `accepted`, and the turn that it is about."""

    feedback: str
    turn_id: str

    @classmethod
    def of(cls, verdict: Verdict) -> AnnouncedVerdict | None:
        """Return the verdict as announced; None if it is not announced."""
        target = verdict.target if verdict.emitted else None
        return cls(verdict.feedback, target.turn_id) if target else None


def difference(before: AnnouncedVerdict | None, after: AnnouncedVerdict | None) -> Difference:
    """Return how `after` differs from `before`."""
    if before == after:
        return "unchanged"
    if before is None or after is None:
        return "added" if before is None else "withdrawn"
    return "reversed" if before.feedback != after.feedback else "moved"


class Example(NamedTuple):
    """Message whose verdict changes. `text` may be shown on the operator's own terminal only."""

    key: MessageKey
    before: AnnouncedVerdict | None
    after: AnnouncedVerdict | None
    text: str


@dataclass
class Differences:
    """Number of messages by difference, with up to twenty examples of each."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Example]] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        return self.counts.total()

    def add(self, example: Example) -> None:
        """Count a message."""
        kind = difference(example.before, example.after)
        self.counts[kind] += 1
        kept = self.kept.setdefault(kind, [])
        if kind != "unchanged" and len(kept) < SHOWN:
            kept.append(example)

    def examples(self) -> Sequence[tuple[str, Example]]:
        """Return at most twenty changed messages, of each difference in turn."""
        rows = [(n, kind, one) for kind, kept in sorted(self.kept.items()) for n, one in enumerate(kept)]
        return [(kind, one) for _, kind, one in sorted(rows, key=lambda row: row[:2])[:SHOWN]]
