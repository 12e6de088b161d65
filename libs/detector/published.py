"""Published accuracy of announced verdicts, on conversations whose texts trained nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from contracts.base import Reaction


class CheckedVerdicts(NamedTuple):
    """Number of announced verdicts that were checked, and of those that were right."""

    right: int
    checked: int


PUBLISHED: Final[Mapping[Reaction, CheckedVerdicts]] = {"not_ok": CheckedVerdicts(27, 35), "ok": CheckedVerdicts(6, 6)}
"""By verdict, on talk with coding agents: `agent-feedback evaluate agents_dev2.jsonl` (docs/evaluation.md).

A language model assigned the labels. The rules and the learned layer share a figure: theirs (10 of 11 and 17 of 24
rejections) do not differ by more than noise.
"""
