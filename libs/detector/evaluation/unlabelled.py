"""Announcement rates on unlabelled messages, and scores on phrases with an expected verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from detector.evaluation import scoring
from detector.evaluation.errors import worst
from detector.evaluation.rows import Judge, Row, neighbourhood, source_of
from detector.model import Verdict

Scores = dict[str, Any]


def announced(verdict: Verdict) -> str | None:
    """Return the reaction announced by a verdict (ok or not_ok), or None if it is not announced."""
    return verdict.reaction if verdict.emitted else None


def score_unlabelled(rows: Sequence[Row], detector: Judge) -> Scores:
    """Return the rates of announced rejections, announced approvals and all rejections, overall and by source."""
    verdicts = detector.judge([neighbourhood(row) for row in rows])
    sources = [source_of(row) for row in rows]

    def of(name: str | None) -> dict[str, float]:
        own = [v for v, s in zip(verdicts, sources, strict=True) if name is None or s == name]
        counts = Counter(announced(v) for v in own)
        called = sum(1 for v in own if v.feedback == "rejected")
        shares = {"announced_rejected": counts["not_ok"], "announced_ok": counts["ok"], "called_rejected": called}
        report: dict[str, float] = {"rows": len(own)}
        for name_of_share, count in shares.items():
            report |= scoring.share(name_of_share, count, len(own))
        return report

    return {**of(None), "per_source": {name: of(name) for name in sorted(set(sources))}}


def score_phrases(rows: Sequence[Row], detector: Judge, errors: int) -> Scores:
    """Count the phrases with the expected label, those with the expected announced reaction, and those with both.

    `false_rejections` is the number of unexpected announced rejections. A new topic counts as accepted here, because it
    sets the status of the turn to accepted.
    """
    verdicts = detector.judge([neighbourhood(row) for row in rows])
    right = [
        (v.feedback == row["label"], announced(v) == row["announced"]) for v, row in zip(verdicts, rows, strict=True)
    ]
    typed = [
        v.correction_type == row["correction_type"]
        for v, row in zip(verdicts, rows, strict=True)
        if row.get("correction_type")
    ]
    groups = [str(row.get("group", "")) for row in rows]
    return {
        "rows": len(rows),
        "label": sum(label for label, _ in right),
        "announced": sum(reaction for _, reaction in right),
        "both": sum(label and reaction for label, reaction in right),
        "correction_type": sum(typed),
        "false_rejections": sum(
            announced(v) == "not_ok" and row["announced"] != "not_ok" for v, row in zip(verdicts, rows, strict=True)
        ),
        "both_by_group": {
            name: sum(both == (True, True) for both, own in zip(right, groups, strict=True) if own == name)
            / groups.count(name)
            for name in dict.fromkeys(groups)
        },
        **({"errors": worst(rows, verdicts, errors)} if errors else {}),
    }
