"""Fits the confidence of verdicts on long answers to labelled turns, and writes `weights/calibration.json`.

    python -m training.calibration TURNS...

TURNS are files of `python -m training.turns`. Chinese turns are left out, because the Chinese patterns were chosen by
reading them. An owner counts as at most `MOST` turns, so that the five largest do not decide. Each curve is weakly
pulled to the score itself, so a kind without turns keeps its score. Evaluation rows are never used.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.addressing import Exchange
from detector.calibration import KINDS, WEIGHTS, ConfidenceCalibration, Curve, log_odds
from detector.detector import Detector
from detector.encoders.embedder import WordLlamaEmbedder
from detector.encoders.minilm import MiniLm
from detector.encoders.minilm_files import fetched
from detector.evaluation.rows import neighbourhood, read_rows
from detector.reading import Reader

#: Number of turns that an owner counts as, if it has more.
MOST: Final = 40
#: Pull of a curve to the score: of its height at the typical score, and of its slope.
PULL: Final = (0.3, 1.0)
#: Log odds of a typical score (0.70).
TYPICAL: Final = 0.85
LEAST_SLOPE: Final = 0.1
_STEPS: Final = 100

Numbers = npt.NDArray[np.float64]


class Judged(NamedTuple):
    """Verdict on a labelled turn. `kind` is one of `KINDS`."""

    owner: str
    kind: str
    score: float
    is_right: bool


def fit(turns: Sequence[Judged]) -> ConfidenceCalibration:
    """Return the calibration of the turns. A kind without turns keeps its score."""
    count = Counter(turn.owner for turn in turns)
    weights = {owner: min(1.0, MOST / turns) for owner, turns in count.items()}
    high = [t for t in turns if t.kind == "rejected.learned" and t.score >= ANNOUNCEMENT_THRESHOLD]
    curves = {kind: _curve([t for t in turns if t.kind == kind and t not in high], weights) for kind in KINDS}
    return ConfidenceCalibration(curves, _announced_slope(high, weights))


def _columns(turns: Sequence[Judged], weights: Mapping[str, float]) -> tuple[Numbers, Numbers, Numbers]:
    """Return the turns' scores, 1 for right verdicts and 0 for others, and their weights."""
    rows = [(turn.score, float(turn.is_right), weights[turn.owner]) for turn in turns]
    scores, right, weight = np.asarray(rows, dtype=np.float64).reshape(-1, 3).T
    return scores, right, weight


def _curve(turns: Sequence[Judged], weights: Mapping[str, float]) -> Curve:
    """Fit a logistic curve by Newton's method, with a quadratic penalty on its distance from the score."""
    scores, right, weight = _columns(turns, weights)
    odds = np.asarray([log_odds(score) for score in scores])
    inputs = np.column_stack((np.ones_like(odds), odds - TYPICAL))
    pull = np.asarray(PULL)
    change = np.zeros(2)
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-odds - inputs @ change))
        slope = inputs.T @ (weight * (shares - right)) + pull * change
        bend = (inputs * (weight * shares * (1 - shares))[:, None]).T @ inputs + np.diag(pull)
        change = change - np.clip(np.linalg.solve(bend, slope), -1, 1)
        change[1] = max(change[1], LEAST_SLOPE - 1)
    steepness = 1 + float(change[1])
    return Curve(round(float(change[0]) + TYPICAL * (1 - steepness), 4), round(steepness, 4))


def _announced_slope(turns: Sequence[Judged], weights: Mapping[str, float]) -> float:
    """Fit a line through the threshold by least squares. Its slope is limited to [LEAST_SLOPE, 1]."""
    scores, right, weight = _columns(turns, weights)
    above = scores - ANNOUNCEMENT_THRESHOLD
    square = float(weight @ above**2)
    slope = float(weight @ (above * (right - ANNOUNCEMENT_THRESHOLD))) / square if square else 1.0
    return round(min(max(slope, LEAST_SLOPE), 1.0), 4)


def judged(files: Sequence[Path], detector: Detector) -> list[Judged]:
    """Return the verdicts on turns after long answers, except in Chinese, for the kinds that have a curve."""
    found = []
    for rows in map(read_rows, files):
        items = [neighbourhood(row) for row in rows]
        read = Reader(WordLlamaEmbedder()).read([Exchange.of(item) for item in items]).evidence
        for row, evidence, verdict in zip(rows, read, detector.judge(items), strict=True):
            kind = f"{verdict.feedback}.{verdict.decided_by}"
            is_fitted = kind in KINDS and not verdict.status_only and verdict.gate != "ok"
            if is_fitted and evidence.language != "zh" and evidence.has_long_answer:
                owner = str(row["source"]).partition("/")[0]
                found.append(Judged(owner, kind, verdict.scores["score"], verdict.feedback == row["label"]))
    return found


def main(files: Sequence[Path]) -> None:
    """Write the calibration, and print how many turns each kind has."""
    turns = judged(files, Detector.default(MiniLm(fetched(print))))
    found = fit(turns)
    stored = {"curves": {kind: list(curve) for kind, curve in found.curves.items()}}
    text = json.dumps({**stored, "announced_slope": found.announced_slope}, indent=1) + "\n"
    WEIGHTS.write_text(text, encoding="utf-8")
    print(f"{len(turns)} turns of {len({turn.owner for turn in turns})} owners", dict(Counter(t.kind for t in turns)))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main([Path(file) for file in sys.argv[1:]])
