"""Precision and recall of announced verdicts, and their recall if a precision is required."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from contracts.base import Reaction
from contracts.intervals import wilson
from detector.evaluation import scoring
from detector.evaluation.rows import Row
from detector.model import Verdict
from detector.published import PUBLISHED, reactions_below

#: Announced reaction -> its name in the report, and the field and value of a row for which it is correct.
_RIGHT: Final[dict[Reaction, tuple[str, str, str]]] = {
    "not_ok": ("rejected", "label", "rejected"),
    "ok": ("ok", "gate", "ok"),
}


def score_at_target(rows: Sequence[Row], verdicts: Sequence[Verdict], target: float) -> dict[str, Any]:
    """Return the precision and recall of announced reactions, and their recall if a precision is required.

    If a detector requires the precision `target`, it does not announce reactions whose published precision (`published`
    in the report) is too low. The given verdicts must come from a detector without a required precision.
    """
    report: dict[str, Any] = {"target": target}
    below = reactions_below(target)
    for reaction, (name, field, value) in _RIGHT.items():
        of_class = [str(row[field]) == value for row in rows]
        announced = [v.emitted and v.reaction == reaction for v in verdicts]
        kept = [said and reaction not in below for said in announced]
        right, right_kept = (
            sum(1 for said, true in zip(ones, of_class, strict=True) if said and true) for ones in (announced, kept)
        )
        known = PUBLISHED[reaction]
        bounds = wilson(*known)
        report[name] = {
            "published": known.right / known.checked,
            "published_low": bounds.low,
            "published_high": bounds.high,
            **scoring.share("precision", right, sum(announced)),
            **scoring.share("recall", right, sum(of_class)),
            "announced_at_target": sum(kept),
            **scoring.share("recall_at_target", right_kept, sum(of_class)),
        }
    return report
