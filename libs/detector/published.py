"""Published precision of announced verdicts, on held-out conversations. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from contracts.base import DecidedBy, Reaction
from contracts.intervals import wilson


class CheckedVerdicts(NamedTuple):
    """Number of checked announced verdicts, and the number of correct ones among them."""

    right: int
    checked: int


PUBLISHED: Final[Mapping[Reaction, CheckedVerdicts]] = {
    "not_ok": CheckedVerdicts(35 + 110, 45 + 141),
    "ok": CheckedVerdicts(6 + 8, 6 + 11),
}
"""Counts by announced reaction, on conversations of 82 owners with coding agents: `agents_dev2` and the turns of
`training/sources.jsonl` (docs/evaluation.md). Chinese turns are excluded, because the patterns were chosen by reading
them.

A language model assigned the labels. Rules and learned layer share the counts, because their rates do not differ
significantly (docs/decisions/0118-a-target-precision-above-the-floor.md).
"""


def falls_short(reaction: Reaction, decided_by: DecidedBy, target: float) -> bool:
    """Return True if even the upper confidence bound of the published precision is below `target`, from 0 to 1.

    There are no published figures for language models, so their verdicts never fall short.
    """
    return decided_by != "llm" and wilson(*PUBLISHED[reaction]).high < target
