"""Published accuracy of announced verdicts, on conversations whose texts trained nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from contracts.base import DecidedBy, Reaction
from contracts.intervals import wilson


class CheckedVerdicts(NamedTuple):
    """Number of announced verdicts that were checked, and of those that were right."""

    right: int
    checked: int


PUBLISHED: Final[Mapping[Reaction, CheckedVerdicts]] = {
    "not_ok": CheckedVerdicts(35 + 110, 45 + 141),
    "ok": CheckedVerdicts(6 + 8, 6 + 11),
}
"""By verdict, on talk with coding agents of 82 owners: `agents_dev2` and the turns of `training/sources.jsonl`
(docs/evaluation.md), without the Chinese turns, whose patterns were chosen by reading them.

A language model assigned the labels. The rules and the learned layer share a figure, because theirs do not differ by
more than noise (docs/decisions/0118-a-target-precision-above-the-floor.md).
"""


def falls_short(reaction: Reaction, decided_by: DecidedBy, target: float) -> bool:
    """Return True if even the upper bound of the published share of right verdicts is below `target`, from 0 to 1.

    Nothing is published for verdicts of a language model, so theirs never fall short.
    """
    return decided_by != "llm" and wilson(*PUBLISHED[reaction]).high < target
