"""Measures the detector on labelled rows: what a message says, whether two requests are one, which answer is meant.

The three kinds of rows are told apart by their fields. Rows are read and scored, never kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from inference import scoring
from inference.detector import Detector
from inference.model import Message, Neighbourhood, Verdict

Row = Mapping[str, Any]
Report = dict[str, Any]

LABELS: Final = ("rejected", "accepted", "neutral")
GATES: Final = ("not_ok", "ok", "neutral")
#: Sources with fewer rows say too little about themselves to count in the mean over sources.
ENOUGH: Final = 20
_MINUTE: Final = 60_000_000


class UnknownRows(ValueError):
    """The file does not hold labelled rows of one of the three kinds; the message says why, without their texts."""


def evaluate(path: Path, detector: Detector | None = None) -> Report:
    """Scores of a JSON-lines file; the keys depend on what kind of rows it holds. Raises UnknownRows."""
    rows = _rows(path)
    judge = detector or Detector.default()
    try:
        if "label" in rows[0] and "message" in rows[0]:
            return evaluate_messages(rows, judge)
        if "a" in rows[0] and "b" in rows[0]:
            return evaluate_pairs(rows, judge)
        if "target_indices" in rows[0]:
            return evaluate_targets(rows, judge)
    except KeyError as error:
        raise UnknownRows(f"{path} holds a row without {error}") from None
    except (TypeError, AttributeError):
        raise UnknownRows(f"{path} holds a row with a field of another type than rows of this kind have") from None
    raise UnknownRows(f"{path} holds other rows: `label` and `message`, `a` and `b`, or `target_indices` are needed")


def _rows(path: Path) -> list[Row]:
    """Split at line feeds alone: JSON may hold other ends of lines as they are."""
    rows: list[Row] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise UnknownRows(f"{path} line {number} is not JSON in UTF-8") from None
        if not isinstance(row, dict):
            raise UnknownRows(f"{path} line {number} is no JSON object")
        rows.append(row)
    if not rows:
        raise UnknownRows(f"{path} holds no rows")
    return rows


def neighbourhood(row: Row) -> Neighbourhood:
    """A row's history and message, a minute apart."""
    before = tuple(
        Message(
            message_id=f"m{number:06}",
            turn_id=f"t{number:06}",
            sender_id=turn["role"],
            role="agent" if turn["role"] == "assistant" else "human",
            agent_id="assistant" if turn["role"] == "assistant" else None,
            text=turn["text"],
            at=number * _MINUTE,
        )
        for number, turn in enumerate(row["history"])
    )
    message = Message("message", "turn", "user", "human", None, row["message"], len(before) * _MINUTE)
    return Neighbourhood(before, message)


def told(verdict: Verdict) -> str:
    """The label of a verdict. A new topic marks the turn's status only, so as a label it says nothing."""
    return "neutral" if verdict.status_only else verdict.feedback


def evaluate_messages(rows: Sequence[Row], detector: Detector) -> Report:
    """The scores of `label` and `gate`, strict and lenient, by source, at the announcing threshold, and the time."""
    items = [neighbourhood(row) for row in rows]
    verdicts = detector.judge(items)
    labels = [told(v) for v in verdicts]
    truth = [str(row["label"]) for row in rows]
    sources = [str(row["source"]).partition("/")[0] for row in rows]
    classes = scoring.per_class(truth, labels, LABELS)
    recall, false = scoring.called(truth, [p == "rejected" for p in labels], "rejected")
    bins = scoring.reliability([v.confidence for v in verdicts], [t == p for t, p in zip(truth, labels, strict=True)])
    by_source = {name: _source(name, sources, truth, labels) for name in sorted(set(sources))}
    strong = [number for number, row in enumerate(rows) if row.get("tier") == "strong"]
    return {
        "rows": len(rows),
        "macro_f1": scoring.macro_f1(classes),
        "accuracy": scoring.accuracy(truth, labels),
        "per_class": classes,
        "per_source": by_source,
        "macro_f1_source_mean": _mean(s["balanced_accuracy"] for s in by_source.values() if s["rows"] >= ENOUGH),
        "macro_f1_strong": _macro([truth[i] for i in strong], [labels[i] for i in strong], LABELS),
        "macro_f1_lenient": _lenient(rows, "acceptable", truth, labels, LABELS),
        "macro_f1_without": {
            name: _macro(
                [t for t, s in zip(truth, sources, strict=True) if s != name],
                [p for p, s in zip(labels, sources, strict=True) if s != name],
                LABELS,
            )
            for name in by_source
        },
        "ece": scoring.expected_calibration_error(bins),
        "reliability": bins,
        "rejected_precision_at_8pct": scoring.at_prevalence(recall, false),
        "at_emission": {name: _emitted(name, truth, verdicts) for name in ("rejected", "accepted")},
        "gate": _gate(rows, verdicts),
        "decided_by": {who: sum(1 for v in verdicts if v.decided_by == who) for who in ("rules", "learned")},
        "latency_ms": _latency(items, detector),
    }


def evaluate_pairs(rows: Sequence[Row], detector: Detector) -> Report:
    """Accuracy at probability 0.5 and AUC of "same intent", for each source and over all."""
    truth = [row["same_intent"] in {True, "yes"} for row in rows]
    scores = [detector.same_intent(row["a"], row["b"]) for row in rows]
    sources = [str(row["source"]) for row in rows]

    def of(name: str | None) -> dict[str, float]:
        kept = [i for i, s in enumerate(sources) if name is None or s == name]
        right = [truth[i] == (scores[i] >= 0.5) for i in kept]
        return {
            "rows": len(kept),
            "accuracy": sum(right) / max(1, len(right)),
            "auc": scoring.auc([truth[i] for i in kept], [scores[i] for i in kept]),
        }

    return {**of(None), "per_source": {name: of(name) for name in sorted(set(sources))}}


def evaluate_targets(rows: Sequence[Row], detector: Detector) -> Report:
    """Share of rows whose best target is one that is meant; the same over rows more than one turn back."""
    right = []
    for row in rows:
        found = detector.locate(neighbourhood(row))
        meant = {f"m{number:06}" for number in row["target_indices"]}
        right.append(bool(found) and found[0].message_id in meant)
    back = [r for r, row in zip(right, rows, strict=True) if row["assistant_turns_back"] > 1]
    return {
        "rows": len(rows),
        "accuracy": sum(right) / max(1, len(right)),
        "rows_further_back": len(back),
        "accuracy_further_back": sum(back) / max(1, len(back)),
    }


def _source(name: str, sources: Sequence[str], truth: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    own = [t for t, s in zip(truth, sources, strict=True) if s == name]
    said = [p for p, s in zip(labels, sources, strict=True) if s == name]
    classes = scoring.per_class(own, said, sorted(set(own)))
    return {
        "rows": len(own),
        "accuracy": scoring.accuracy(own, said),
        "balanced_accuracy": scoring.balanced_accuracy(own, said),
        "recall": {label: scores["recall"] for label, scores in classes.items()},
    }


def _macro(truth: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> float:
    return scoring.macro_f1(scoring.per_class(truth, labels, names))


def _lenient(rows: Sequence[Row], key: str, truth: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> float:
    """A prediction that a careful person might give counts as right."""
    eased = [p if p in row.get(key, ()) else t for row, t, p in zip(rows, truth, labels, strict=True)]
    return _macro(eased, labels, names)


def _emitted(name: str, truth: Sequence[str], verdicts: Sequence[Verdict]) -> dict[str, float]:
    recall, false = scoring.called(truth, [v.emitted and v.feedback == name for v in verdicts], name)
    return {"recall": recall, "false_share": false, "precision_at_8pct": scoring.at_prevalence(recall, false)}


def _gate(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    truth, calls = [str(row["gate"]) for row in rows], [str(v.gate) for v in verdicts]
    classes = scoring.per_class(truth, calls, GATES)
    return {
        "macro_f1": scoring.macro_f1(classes),
        "macro_f1_lenient": _lenient(rows, "gate_acceptable", truth, calls, GATES),
        "accuracy": scoring.accuracy(truth, calls),
        "per_class": classes,
    }


def _latency(items: Sequence[Neighbourhood], detector: Detector) -> dict[str, float]:
    """Milliseconds of judging one message alone."""
    spent = []
    for item in items:
        started = time.perf_counter()
        detector.judge([item])
        spent.append((time.perf_counter() - started) * 1000)
    return {"p50": float(np.percentile(spent, 50)), "p99": float(np.percentile(spent, 99))}


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / max(1, len(listed))
