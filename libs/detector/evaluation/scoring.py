"""Statistics for comparing predictions with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from detector.intervals import wilson

#: Proportion of rejections among real messages, according to the README of the evaluation data.
PREVALENCE: Final = 0.08
BINS: Final = 10


def per_class(truth: Sequence[str], predicted: Sequence[str], classes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the precision, recall and F1 score of each class, with 0 for values whose denominator is zero."""
    scores = {}
    for name in classes:
        hit = sum(1 for t, p in zip(truth, predicted, strict=True) if t == p == name)
        precision = hit / max(1, sum(1 for p in predicted if p == name))
        recall = hit / max(1, sum(1 for t in truth if t == name))
        f1 = 2 * precision * recall / (precision + recall) if hit else 0.0
        scores[name] = {"precision": precision, "recall": recall, "f1": f1}
    return scores


def share(name: str, hits: int, rows: int) -> dict[str, float]:
    """Return the proportion `hits / rows` and its 95 % confidence interval.

    The keys are `name`, `name_low` and `name_high`. If `rows` is 0, the proportion is 0 with the interval 0 to 1.
    """
    interval = wilson(hits, rows)
    return {name: hits / max(1, rows), f"{name}_low": interval.low, f"{name}_high": interval.high}


def macro_f1(classes: Mapping[str, Mapping[str, float]]) -> float:
    """Return the mean of the classes' F1 scores."""
    return float(np.mean([scores["f1"] for scores in classes.values()]))


def accuracy(truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Return the proportion of correct predictions."""
    return sum(1 for t, p in zip(truth, predicted, strict=True) if t == p) / max(1, len(truth))


def at_prevalence(recall: float, false_share: float) -> float:
    """Return the precision to expect if the proportion of positives is `PREVALENCE`.

    `false_share` is the false positive rate. If there are no positive predictions, the result is 0.
    """
    hit, wrong = PREVALENCE * recall, (1 - PREVALENCE) * false_share
    return hit / (hit + wrong) if hit + wrong > 0 else 0.0


def called(truth: Sequence[str], positive: Sequence[bool], name: str) -> tuple[float, float]:
    """Return the recall and the false positive rate of the class `name`."""
    own = [p for t, p in zip(truth, positive, strict=True) if t == name]
    other = [p for t, p in zip(truth, positive, strict=True) if t != name]
    return sum(own) / max(1, len(own)), sum(other) / max(1, len(other))


def reliability(confidence: Sequence[float], right: Sequence[bool]) -> list[dict[str, float]]:
    """Return the number of rows, the mean confidence and the accuracy for each confidence bin.

    Bins include their upper bound but not their lower bound. Empty bins are omitted.
    """
    bins = []
    sure, hits = np.asarray(confidence, dtype=float), np.asarray(right, dtype=float)
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        inside = (sure > low) & (sure <= high)
        if inside.any():
            bins.append(
                {
                    "low": low,
                    "high": high,
                    "rows": int(inside.sum()),
                    "confidence": float(sure[inside].mean()),
                    "accuracy": float(hits[inside].mean()),
                }
            )
    return bins


def expected_calibration_error(bins: Sequence[Mapping[str, float]]) -> float:
    """Return the expected calibration error.

    This is the mean absolute difference between confidence and accuracy over all bins, weighted by their number of
    rows.
    """
    rows = sum(b["rows"] for b in bins)
    return sum(b["rows"] / rows * abs(b["confidence"] - b["accuracy"]) for b in bins) if rows else 0.0


def auc(truth: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the AUC: the probability that a positive has a higher score than a negative.

    Ties count as half. Without any positives or negatives, the result is 0.5.
    """
    positive = np.sort([s for t, s in zip(truth, scores, strict=True) if t])
    negative = np.sort([s for t, s in zip(truth, scores, strict=True) if not t])
    if not len(positive) or not len(negative):
        return 0.5
    below = np.searchsorted(negative, positive, side="left").sum()
    ties = np.searchsorted(negative, positive, side="right").sum() - below
    return float((below + ties / 2) / (len(positive) * len(negative)))
