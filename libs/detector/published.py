"""Published precision of announced verdicts, measured on held-out conversations. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from contracts.base import Reaction
from contracts.intervals import wilson


class CheckedVerdicts(NamedTuple):
    """Result of checking announced verdicts of one kind: `right` of the `checked` verdicts were right."""

    right: int
    checked: int


PUBLISHED: Final[Mapping[Reaction, CheckedVerdicts]] = {
    "not_ok": CheckedVerdicts(35 + 110, 45 + 141),
    "ok": CheckedVerdicts(6 + 8, 6 + 11),
}
"""Counts by announced reaction, on conversations with coding agents in repositories of 82 owners: `agents_dev2` and
the turns of `training/sources.jsonl` (docs/evaluation.md). Chinese turns are excluded, because the Chinese patterns
were written after reading them.

A language model assigned the labels. Rules and learned layer share the counts, because their rates do not differ
significantly (docs/decisions/0118-a-target-precision-above-the-floor.md).
"""


def reactions_below(target: float) -> frozenset[Reaction]:
    """Return the reactions whose published precision is too low for an announcement.

    This is the case if even the upper bound of its confidence interval is below `target` (0 to 1).
    """
    return frozenset(reaction for reaction, counts in PUBLISHED.items() if wilson(*counts).high < target)
