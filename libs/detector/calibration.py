"""Calibrate the confidence of verdicts.

After a long answer (`Evidence.has_long_answer`), such as one from a coding agent, scores are biased: a message without
a cue is usually the next request, and a likely rejection is correct less often than its score suggests. Logistic curves
fitted on labelled turns correct both effects. After a short answer, the score is used as the confidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.rules import Decision

WEIGHTS: Final = Path(__file__).parent / "weights" / "calibration.json"
#: Scores are clipped to [EDGE, 1 - EDGE], because the log odds of 0 and 1 are infinite.
EDGE: Final = 0.001
_ROUNDING: Final = 1e-9

#: Kinds of verdicts with a curve, as `label.layer`. The curve of rejections applies below the announcement threshold.
KINDS: Final = ("rejected.learned", "accepted.learned", "accepted.rules", "neutral.learned", "neutral.rules")


def log_odds(score: float) -> float:
    """Return the log odds of a score, which is first clamped to the range from EDGE to 1 - EDGE."""
    limited = min(max(score, EDGE), 1 - EDGE)
    return math.log(limited / (1 - limited))


class Curve(NamedTuple):
    """Logistic calibration curve: log odds of the confidence = `intercept` + `slope` * log odds of the score."""

    intercept: float
    slope: float

    def at(self, score: float) -> float:
        """Return the confidence, in (0, 1), for a score in [0, 1]."""
        return 1 / (1 + math.exp(-self.intercept - self.slope * log_odds(score)))


@dataclass(frozen=True, slots=True)
class ConfidenceCalibration:
    """Calibration curves for each kind of verdict.

    Announced rejections by the learned layer do not use a curve. Instead, the distance of their score from the
    announcement threshold is multiplied by `announced_slope`.

    All slopes are positive, so that calibration keeps the order of scores of the same kind. Calibration never moves
    a rejection across the announcement threshold, so calibration does not change which rejections are announced.

    Raises:
        ValueError: The curves are incomplete or violate one of these rules.
    """

    curves: Mapping[str, Curve]
    announced_slope: float

    def __post_init__(self) -> None:
        if self.curves.keys() != set(KINDS):
            raise ValueError(f"a calibration needs the curves {', '.join(KINDS)}")
        if not 0 < self.announced_slope <= 1 or any(curve.slope <= 0 for curve in self.curves.values()):
            raise ValueError("a calibration must keep the order of scores")
        if self.curves["rejected.learned"].at(ANNOUNCEMENT_THRESHOLD) > ANNOUNCEMENT_THRESHOLD + _ROUNDING:
            raise ValueError("a rejection below the announcement threshold must stay below it")

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> ConfidenceCalibration:
        """Load the committed calibration.

        Raises:
            ValueError: The stored curves are not valid (see the class).
        """
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls({kind: Curve(*stored["curves"][kind]) for kind in KINDS}, float(stored["announced_slope"]))

    def confidence(self, decision: Decision) -> float:
        """Return the calibrated confidence (0 to 1) of a decision about a message that follows a long answer.

        Approvals, new topics and rejections by rules keep their score. For these, the labelled turns contain too few
        examples, or the score already matches the measured precision.
        """
        score = decision.confidence
        curve = self.curves.get(f"{decision.feedback}.{decision.decided_by}")
        if curve is None or decision.status_only or decision.gate == "ok":
            return score
        if decision.feedback == "rejected" and score >= ANNOUNCEMENT_THRESHOLD:
            above = score - ANNOUNCEMENT_THRESHOLD
            return round(ANNOUNCEMENT_THRESHOLD + self.announced_slope * above, 6)
        return round(curve.at(score), 6)
