"""Evaluate the detector on a file of rows. The fields of the first row determine the kind of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from detector.detector import Detector
from detector.evaluation import scoring
from detector.evaluation.messages import By, score_messages
from detector.evaluation.rows import Judge, Row, UnknownRows, kind_of, neighbourhood, read_rows
from detector.evaluation.unlabelled import score_phrases, score_unlabelled

Report = dict[str, Any]


def evaluate(
    path: Path,
    detector: Judge | None = None,
    by: Sequence[By] = (),
    errors: int = 0,
    keep_outcomes: bool = False,
) -> Report:
    """Evaluate the detector on a JSON Lines file.

    Args:
        path: The file.
        detector: The detector, by default `Detector.default()`.
        by: Groups for which scores are also reported. Labelled messages only.
        errors: Number of worst errors to report, including their texts. Labelled messages and phrases only.
        keep_outcomes: Report each row's outcome under `outcomes`. Labelled messages only.

    Returns:
        The scores, with the kind of rows under `kind`.

    Raises:
        UnknownRows: The file contains no rows of a known kind, or an invalid row.
    """
    rows = read_rows(path)
    kind = kind_of(rows, path)
    judge: Judge = detector or Detector.default()
    try:
        match kind:
            case "messages":
                report = score_messages(rows, judge, by, errors, keep_outcomes)
            case "phrases":
                report = score_phrases(rows, judge, errors)
            case "unlabelled":
                report = score_unlabelled(rows, judge)
            case "targets":
                report = score_targets(rows, judge)
    except KeyError as error:
        raise UnknownRows(f"{path} contains a row without {error}") from None
    except (TypeError, AttributeError):
        raise UnknownRows(f"{path} contains a row with a field of the wrong type") from None
    return {"kind": kind, **report}


def score_targets(rows: Sequence[Row], detector: Judge) -> Report:
    """Evaluate the selection of targets, i.e. of the agents' messages that feedback is about.

    Returns:
        The accuracy of the most probable target, overall and for targets more than one turn back. `by_verdict` contains
        the same figures for the targets of the verdicts, and `by_rules` for the targets of verdicts decided by a rule.
        Both leave out rows whose verdict has no target.
    """
    items = [neighbourhood(row) for row in rows]
    meant = [{f"m{number:06}" for number in row["target_indices"]} for row in rows]
    is_earlier = [row["assistant_turns_back"] > 1 for row in rows]
    best = [ranking[0].message_id if (ranking := detector.locate(item)) else None for item in items]
    verdicts = detector.judge(items)
    judged = [v.target.message_id if v.target else None for v in verdicts]
    ruled = [t if v.decided_by == "rules" else None for t, v in zip(judged, verdicts, strict=True)]
    return {
        **_found(best, meant, is_earlier),
        "by_verdict": _found(judged, meant, is_earlier, found_only=True),
        "by_rules": _found(ruled, meant, is_earlier, found_only=True),
    }


def _found(
    targets: Sequence[str | None], meant: Sequence[set[str]], is_earlier: Sequence[bool], found_only: bool = False
) -> dict[str, float]:
    """Return the accuracy of the targets, overall and for the rows marked in `is_earlier`.

    With `found_only`, rows without a target are left out.
    """
    rows = [(t in m, b) for t, m, b in zip(targets, meant, is_earlier, strict=True) if t is not None or not found_only]
    right, further = [r for r, _ in rows], [r for r, b in rows if b]
    return {
        "rows": len(right),
        **scoring.share("accuracy", sum(right), len(right)),
        "rows_further_back": len(further),
        **scoring.share("accuracy_further_back", sum(further), len(further)),
    }
