"""Scores on labelled messages, overall and by group.

Labels, gates (stricter verdicts) and announcements are scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import eq
from typing import Any, Final, Literal, get_args

from detector.evaluation import scoring
from detector.evaluation.comparison import outcomes
from detector.evaluation.errors import worst
from detector.evaluation.rows import Judge, Row, neighbourhood, source_of
from detector.model import Verdict

Scores = dict[str, Any]
By = Literal["length", "source", "language"]
GROUPS: Final[tuple[By, ...]] = get_args(By)

LABELS: Final = ("rejected", "accepted", "neutral")
GATES: Final = ("not_ok", "ok", "neutral")
#: Upper bounds of the groups by `length`, in words.
LENGTHS: Final = (5, 10, 25, 60)


def label_of(verdict: Verdict) -> str:
    """Return the label that corresponds to a verdict.

    A new topic has the label neutral, although its verdict sets the status of the turn to accepted.
    """
    return "neutral" if verdict.status_only else verdict.feedback


def rejection(verdict: Verdict) -> float:
    """Return the probability of a rejection: the classifier's, or else derived from the verdict's confidence."""
    confidence = verdict.confidence if verdict.feedback == "rejected" else 1 - verdict.confidence
    return verdict.scores.get("rejected", confidence)


def length_of(row: Row) -> str:
    """Return the name of the length group of a row's message, such as "06-10 words".

    The names sort in order of length.
    """
    words = len(row["message"].split())
    low = 0
    for high in LENGTHS:
        if words <= high:
            return f"{low:02}-{high:02} words"
        low = high + 1
    return f"{low:02} words and more"


_NAME_OF: Final[dict[By, Callable[[Row], str]]] = {
    "length": length_of,
    "source": source_of,
    "language": lambda row: str(row.get("language", "en")),
}


def score_messages(
    rows: Sequence[Row],
    detector: Judge,
    by: Sequence[By],
    errors: int,
    keep_outcomes: bool,
) -> Scores:
    """Evaluate the detector on labelled messages.

    Args:
        rows: The labelled messages.
        detector: The detector.
        by: Groups for which scores are also reported.
        errors: Number of worst errors to report.
        keep_outcomes: Report each row's outcome under `outcomes`, for `comparison.differences`.

    Returns:
        The scores for `label` and `gate` (overall, by group, and for announcements).
    """
    verdicts = detector.judge([neighbourhood(row) for row in rows])
    report = {**_core(rows, verdicts), **_further(rows, verdicts)}
    if by:
        report["by"] = {group: _by(_NAME_OF[group], rows, verdicts) for group in by}
    if keep_outcomes:
        report["outcomes"] = outcomes(rows, [label_of(v) for v in verdicts], verdicts)
    if errors:
        report["errors"] = worst(rows, verdicts, errors)
    return report


def _further(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Scores:
    """Return the scores that are reported for all rows only."""
    truth, labels = [str(row["label"]) for row in rows], [label_of(v) for v in verdicts]
    recall, false = scoring.called(truth, [label == "rejected" for label in labels], "rejected")
    return {
        "macro_f1_lenient": _lenient(rows, "acceptable", truth, labels, LABELS),
        "reliability": _bins(truth, verdicts),
        "rejected_auc": scoring.auc([label == "rejected" for label in truth], [rejection(v) for v in verdicts]),
        "rejected_precision_at_8pct": scoring.at_prevalence(recall, false),
        "gate": _gate(rows, verdicts),
        "decided_by": {who: sum(1 for v in verdicts if v.decided_by == who) for who in ("rules", "learned", "llm")},
    }


def _core(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Scores:
    """Return the scores that are reported both for all rows and for each group."""
    truth, labels = [str(row["label"]) for row in rows], [label_of(v) for v in verdicts]
    classes = scoring.per_class(truth, labels, LABELS)
    return {
        "rows": len(rows),
        "macro_f1": scoring.macro_f1(classes),
        **scoring.share("accuracy", sum(map(eq, truth, labels)), len(rows)),
        "per_class": classes,
        "ece": scoring.expected_calibration_error(_bins(truth, verdicts)),
        "at_emission": {
            "rejected": _announced(truth, verdicts, "rejected"),
            "accepted": _announced(truth, verdicts, "accepted"),
            "ok": _announced([str(row["gate"]) for row in rows], verdicts, "ok"),
        },
    }


def _announced(truth: Sequence[str], verdicts: Sequence[Verdict], name: str) -> dict[str, float]:
    """Return the precision and recall of announced verdicts of the kind `name`, also at a prevalence of 8 %.

    Args:
        truth: The correct labels, or the correct gate labels for the kind ok.
        verdicts: The verdicts.
        name: The kind: rejected, accepted or ok.
    """
    wanted = {"ok": "accepted"}.get(name, name)
    announced = [v.emitted and v.feedback == wanted for v in verdicts]
    recall, false = scoring.called(truth, announced, name)
    hits = [t == name for t, s in zip(truth, announced, strict=True) if s]
    right = sum(hits)
    return {
        "announced": sum(announced),
        **scoring.share("precision", right, sum(announced)),
        **scoring.share("recall", right, truth.count(name)),
        "false_share": false,
        "precision_at_8pct": scoring.at_prevalence(recall, false),
    }


def _by(name_of: Callable[[Row], str], rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Scores:
    names = [name_of(row) for row in rows]
    groups = {}
    for name in sorted(Counter(names)):
        kept = [i for i, own in enumerate(names) if own == name]
        groups[name] = _core([rows[i] for i in kept], [verdicts[i] for i in kept])
    foreign = [i for i, own in enumerate(names) if own != "en"]
    if "en" in groups and len(groups) > 2:
        groups["other than en"] = _core([rows[i] for i in foreign], [verdicts[i] for i in foreign])
    return groups


def _bins(truth: Sequence[str], verdicts: Sequence[Verdict]) -> list[dict[str, float]]:
    right = [t == label_of(v) for t, v in zip(truth, verdicts, strict=True)]
    return scoring.reliability([v.confidence for v in verdicts], right)


def _macro(truth: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> float:
    return scoring.macro_f1(scoring.per_class(truth, labels, names))


def _lenient(rows: Sequence[Row], key: str, truth: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> float:
    """Return the macro-F1 score if any acceptable label of a row counts as correct."""
    eased = [p if p in row.get(key, ()) else t for row, t, p in zip(rows, truth, labels, strict=True)]
    return _macro(eased, labels, names)


def _gate(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> Scores:
    truth, calls = [str(row["gate"]) for row in rows], [str(v.gate) for v in verdicts]
    classes = scoring.per_class(truth, calls, GATES)
    return {
        "macro_f1": scoring.macro_f1(classes),
        "macro_f1_lenient": _lenient(rows, "gate_acceptable", truth, calls, GATES),
        "accuracy": scoring.accuracy(truth, calls),
        "per_class": classes,
    }
