"""Published precision of announced verdicts, measured on held-out conversations. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from contracts.base import Reaction


class CheckedVerdicts(NamedTuple):
    """Result of checking announced verdicts of one kind: `right` of the `checked` verdicts were right."""

    right: int
    checked: int


PUBLISHED: Final[Mapping[Reaction, CheckedVerdicts]] = {
    "not_ok": CheckedVerdicts(31 + 21, 34 + 26),
    "ok": CheckedVerdicts(7 + 8, 7 + 8),
}
"""Counts by announced reaction, on conversations with LLM assistants: `agents_dev2` and `agents_dev`
(docs/evaluation.md). A language model assigned the labels.
"""
